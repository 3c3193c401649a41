package io.homeostat.reconcile.agent.ui;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.util.RawValue;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.output.Json;
import io.netty.handler.codec.http.HttpResponseStatus;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/** What a command has printed, of which so much is kept. */
final class Result {
    static final int MOST = 16 << 20;

    private final Bounded out = new Bounded();
    private final Bounded err = new Bounded();

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
                    "the result has more than " + (MOST >> 20) + " MiB; the command line shows it");
        }
        ObjectNode json = Json.object().put("exitStatus", exitStatus);
        lines(out, json.putArray("results"));
        lines(err, json.putArray("messages"));
        return Answer.of(exitStatus == ExitStatus.USAGE ? HttpResponseStatus.BAD_REQUEST : HttpResponseStatus.OK, json);
    }

    private static void lines(Bounded text, ArrayNode array) {
        text.bytes
                .toString(StandardCharsets.UTF_8)
                .lines()
                .filter(line -> !line.isBlank())
                .forEach(line -> array.addRawValue(new RawValue(line)));
    }

    private static final class Bounded extends OutputStream {
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        private boolean overflown;

        @Override
        public void write(int b) {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] piece, int offset, int length) {
            overflown |= bytes.size() + length > MOST;
            if (!overflown) {
                bytes.write(piece, offset, length);
            }
        }
    }
}
