package io.homeostat.desired.remote;

import com.google.protobuf.ByteString;
import java.io.IOException;
import java.util.zip.GZIPInputStream;

/** Sets may be packed. */
public final class Gzip {
    private static final ByteString MAGIC = ByteString.copyFrom(new byte[] {0x1f, (byte) 0x8b});

    private Gzip() {}

    /**
     * What is packed in there; the same when nothing is.
     *
     * @throws FetchFailure when it is damaged, or longer than a set may be
     */
    public static ByteString unpacked(ByteString content) throws FetchFailure {
        if (!content.startsWith(MAGIC)) {
            return content;
        }
        try (GZIPInputStream in = new GZIPInputStream(content.newInput())) {
            byte[] bytes = in.readNBytes(SetFetcher.MAX_BYTES + 1);
            if (bytes.length > SetFetcher.MAX_BYTES) {
                throw new FetchFailure(
                        "it has more than 16 MiB when it is unpacked, which is the most that a set may have");
            }
            return ByteString.copyFrom(bytes);
        } catch (IOException e) {
            throw new FetchFailure("it can't be unpacked: " + e.getMessage() + "; publish it again", e);
        }
    }
}
