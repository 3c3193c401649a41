package io.homeostat.actuate.archive;

import com.google.common.io.BaseEncoding;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/** Computes a SHA-256, and then another. Closed when it is not needed any more, whether or not it was finished. */
public interface Sha256 extends AutoCloseable {
    void update(byte[] bytes, int length);

    /** The hash of everything since the last one, in lower-case hexadecimal; what comes after it belongs to the next. */
    String finish();

    @Override
    void close();

    /**
     * The machine's own implementation where there is one. The JDK's is as fast only when its optimising compiler may run; with the
     * flags of our launcher it hashes 140 MB/s, a tenth of that, and so would take longer than the rest of a download.
     */
    static Sha256 start() {
        return OpenSslSha256.start().orElseGet(Sha256::ofJdk);
    }

    static Sha256 ofJdk() {
        MessageDigest digest;
        try {
            digest = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256, this one does not", e);
        }
        return new Sha256() {
            @Override
            public void update(byte[] bytes, int length) {
                digest.update(bytes, 0, length);
            }

            @Override
            public String finish() {
                return BaseEncoding.base16().lowerCase().encode(digest.digest());
            }

            @Override
            public void close() {}
        };
    }
}
