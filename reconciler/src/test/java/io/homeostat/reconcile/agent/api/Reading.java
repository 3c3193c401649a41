package io.homeostat.reconcile.agent.api;

import com.google.protobuf.ByteString;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.StatusRequest;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;

/** Keeps what a call brings. */
final class Reading implements ApiClient.Reader {
    static final CommandRequest REQUEST = CommandRequest.newBuilder()
            .setStatus(StatusRequest.getDefaultInstance())
            .build();

    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private final StringBuilder text = new StringBuilder();

    @Override
    public void standardOutput(ByteString bytes) {
        text.append("out:").append(bytes.toString(StandardCharsets.UTF_8));
    }

    @Override
    public void standardError(ByteString bytes) {
        text.append("err:").append(bytes.toString(StandardCharsets.UTF_8));
    }

    @Override
    public boolean readsOn() {
        return true;
    }

    String text() {
        return text.toString();
    }

    /** Asks once; returns the exit status and what was written. */
    static String ask(Path socket) throws InterruptedException {
        Reading reading = new Reading();
        try (ApiClient client = new ApiClient(socket, PATIENCE)) {
            return ask(client, reading) + " " + reading.text();
        }
    }

    static int ask(ApiClient client, ApiClient.Reader reader) throws InterruptedException {
        return client.run(REQUEST, reader);
    }
}
