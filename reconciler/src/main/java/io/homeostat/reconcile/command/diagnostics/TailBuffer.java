package io.homeostat.reconcile.command.diagnostics;

import io.homeostat.observe.process.PinnedFile;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Arrays;

/** Keeps the end of what is written to it, in whole lines, and never more than twice its bound. */
public final class TailBuffer extends OutputStream {
    private final int most;
    private byte[] before = {};
    private byte[] now;
    private int length;
    private boolean cut;

    /** @param most bytes of the end */
    public TailBuffer(int most) {
        this.most = most;
        this.now = new byte[Math.min(most, 8192)];
    }

    @Override
    public void write(int b) {
        write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int count) {
        int from = offset;
        int left = count;
        while (left > 0) {
            if (length == most) {
                cut |= before.length > 0;
                before = now;
                now = new byte[most];
                length = 0;
            }
            int taken = Math.min(left, most - length);
            if (length + taken > now.length) {
                now = Arrays.copyOf(now, Math.min(most, Math.max(length + taken, 2 * now.length)));
            }
            System.arraycopy(bytes, from, now, length, taken);
            length += taken;
            from += taken;
            left -= taken;
        }
    }

    /** What is kept; the first line says if something was left out. */
    public String text() {
        int fromBefore = Math.min(before.length, most - length);
        byte[] end = new byte[fromBefore + length];
        System.arraycopy(before, before.length - fromBefore, end, 0, fromBefore);
        System.arraycopy(now, 0, end, fromBefore, length);
        String text = new String(end, StandardCharsets.UTF_8);
        if (!cut && fromBefore == before.length) {
            return text;
        }
        int line = text.indexOf('\n');
        return "(what stood before this is left out)\n" + (line < 0 ? "" : text.substring(line + 1));
    }

    /**
     * The last whole lines of a file, which a workload may have replaced.
     *
     * @throws IOException when it is no regular file: a symlink could lead to anything that we may read
     */
    public static String of(Path file, int most) throws IOException {
        if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
            throw new IOException(
                    Files.exists(file, LinkOption.NOFOLLOW_LINKS) ? "it is no regular file" : "it is not there");
        }
        try (FileChannel channel = PinnedFile.read(file)) {
            // One more than is kept, so that the first line is known to be a part of one.
            channel.position(Math.max(0, channel.size() - most - 1));
            TailBuffer end = new TailBuffer(most);
            InputStream in = Channels.newInputStream(channel);
            byte[] piece = in.readNBytes(most + 1);
            end.write(piece, 0, piece.length);
            return end.text();
        }
    }
}
