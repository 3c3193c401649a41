package io.homeostat.reconcile.agent.ui;

import com.google.protobuf.ByteString;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.netty.handler.codec.http.HttpResponseStatus;
import java.io.OutputStream;

/** What a command has printed, of which so much is kept, and only once: several are answered at a time. */
final class Result {
    /** Of results and of messages, each: a thousand workloads with their documents take less. */
    static final int MOST = 4 << 20;

    private final Lines out = new Lines();
    private final Lines err = new Lines();

    OutputStream out() {
        return out;
    }

    OutputStream err() {
        return err;
    }

    /** The same as one object: exit status, results and messages, these as {@code -o json} has them. */
    Answer answer(int exitStatus) {
        if (out.overflown || err.overflown) {
            return Answer.refusal(
                    HttpResponseStatus.INTERNAL_SERVER_ERROR,
                    "the result has more than " + (MOST >> 20)
                            + " MiB, which is more than this page can show; the command line shows it");
        }
        ByteString json = ByteString.copyFromUtf8("{\"exitStatus\":" + exitStatus + ",\"results\":[")
                .concat(out.kept.toByteString())
                .concat(ByteString.copyFromUtf8("],\"messages\":["))
                .concat(err.kept.toByteString())
                .concat(ByteString.copyFromUtf8("]}"));
        return Answer.json(
                exitStatus == ExitStatus.USAGE ? HttpResponseStatus.BAD_REQUEST : HttpResponseStatus.OK, json);
    }

    /** Makes elements of an array of lines, each of which is a value. */
    private static final class Lines extends OutputStream {
        private final ByteString.Output kept = ByteString.newOutput();
        private boolean between;
        private boolean overflown;

        @Override
        public void write(int b) {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] piece, int offset, int length) {
            int begin = offset;
            for (int i = offset; i < offset + length; i++) {
                if (piece[i] == '\n') {
                    keep(piece, begin, i - begin);
                    between = kept.size() > 0;
                    begin = i + 1;
                }
            }
            keep(piece, begin, offset + length - begin);
        }

        private void keep(byte[] piece, int offset, int length) {
            overflown |= kept.size() + length > MOST;
            if (overflown || length == 0) {
                return;
            }
            if (between) {
                kept.write(',');
                between = false;
            }
            kept.write(piece, offset, length);
        }
    }
}
