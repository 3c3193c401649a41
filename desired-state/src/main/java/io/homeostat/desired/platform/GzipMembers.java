package io.homeostat.desired.platform;

import java.io.IOException;
import java.io.InputStream;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;

/**
 * Unpacks gzip, all members in a row. The JDK's stream calls itself for each member without content, so that enough of them overflow the
 * stack, inside of whatever locks are held; here, many in a row are damage.
 */
public final class GzipMembers extends GZIPInputStream {
    private static final int MOST = 100;

    private int depth;

    public GzipMembers(InputStream packed) throws IOException {
        super(packed);
    }

    @Override
    public int read(byte[] into, int offset, int length) throws IOException {
        if (depth == MOST) {
            throw new ZipException("too many members without content");
        }
        depth++;
        try {
            return super.read(into, offset, length);
        } finally {
            depth--;
        }
    }
}
