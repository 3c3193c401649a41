package io.homeostat.reconcile.agent.hooks;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.AgentConfig;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** One way to tell somebody of an event. */
sealed interface HookCall extends AutoCloseable {
    static HookCall of(AgentConfig.Hook hook) {
        return hook.webhook() == null
                ? new Exec(hook.exec(), hook.timeout())
                : Webhook.at(URI.create(hook.webhook()), hook.timeout());
    }

    /**
     * Tells it and waits until it was taken, as long as one attempt may take.
     *
     * @throws IOException when it was not taken; the message says why, without arguments and paths, which may be secret
     */
    void tell(HookMessage message) throws IOException, InterruptedException;

    @Override
    void close();

    /** A program: the event on its standard input, a few variables, nothing of the agent's environment. */
    record Exec(ImmutableList<String> command, Duration timeout) implements HookCall {
        private static final int MOST_SHOWN = 500;
        private static final Duration LAST_OUTPUT = Duration.ofSeconds(1);

        @Override
        public void tell(HookMessage message) throws IOException, InterruptedException {
            ProcessBuilder builder =
                    new ProcessBuilder(command).directory(new File("/")).redirectErrorStream(true);
            Map<String, String> environment = builder.environment();
            environment.clear();
            environment.put("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
            environment.put("LANG", "C.UTF-8");
            environment.put("HOMEOSTAT_EVENT", message.event());
            environment.put("HOMEOSTAT_WORKLOAD", message.workload());
            Process process = builder.start();
            ByteArrayOutputStream said = new ByteArrayOutputStream();
            // No virtual threads: what a program leaves running may hold its output, and with it the reader's carrier.
            Thread writer = Thread.ofPlatform().daemon(true).start(() -> write(process, message.json()));
            Thread reader = Thread.ofPlatform().daemon(true).start(() -> read(process, said));
            try {
                if (!process.waitFor(timeout.toMillis(), TimeUnit.MILLISECONDS)) {
                    throw new IOException(command.getFirst() + " did not end within " + timeout.toMillis()
                            + " ms and was killed; make it quicker, or set timeout");
                }
                reader.join(LAST_OUTPUT);
            } finally {
                process.descendants().forEach(ProcessHandle::destroyForcibly);
                process.destroyForcibly();
                writer.interrupt();
                reader.interrupt();
            }
            if (process.exitValue() != 0) {
                throw new IOException(command.getFirst() + " exited with status " + process.exitValue() + shown(said));
            }
        }

        private static String shown(ByteArrayOutputStream said) {
            String text;
            synchronized (said) {
                text = said.toString(StandardCharsets.UTF_8).strip();
            }
            return text.isEmpty() ? "" : ": " + text;
        }

        /** One that ends without reading it was told all the same, if it says so by its exit status. */
        private static void write(Process process, String json) {
            try (OutputStream in = process.getOutputStream()) {
                in.write(json.getBytes(StandardCharsets.UTF_8));
            } catch (IOException e) {
                HookWorker.LOG.debug("a hook did not read all of its event: {}", e.getMessage());
            }
        }

        /** All of it, or it would stand still; only the beginning is kept. */
        private static void read(Process process, ByteArrayOutputStream said) {
            byte[] buffer = new byte[MOST_SHOWN];
            try (InputStream out = process.getInputStream()) {
                for (int length = out.read(buffer); length >= 0; length = out.read(buffer)) {
                    synchronized (said) {
                        said.write(buffer, 0, Math.min(length, MOST_SHOWN - said.size()));
                    }
                }
            } catch (IOException e) {
                HookWorker.LOG.debug("what a hook says is not known: {}", e.getMessage());
            }
        }

        @Override
        public void close() {
            // Nothing is kept between two calls.
        }
    }

    /** A web server. */
    record Webhook(URI url, Duration timeout, HttpClient client) implements HookCall {
        static Webhook at(URI url, Duration timeout) {
            return new Webhook(
                    url,
                    timeout,
                    HttpClient.newBuilder()
                            .version(HttpClient.Version.HTTP_1_1)
                            .followRedirects(HttpClient.Redirect.NEVER)
                            .connectTimeout(timeout)
                            .build());
        }

        @Override
        public void tell(HookMessage message) throws IOException, InterruptedException {
            HttpRequest request = HttpRequest.newBuilder(url)
                    .timeout(timeout)
                    .header("Content-Type", "application/json")
                    .POST(HttpRequest.BodyPublishers.ofString(message.json()))
                    .build();
            int status;
            try {
                HttpResponse<InputStream> answer = client.send(request, HttpResponse.BodyHandlers.ofInputStream());
                status = answer.statusCode();
                // The rest of the answer is not waited for: the timeout is over its beginning only.
                answer.body().close();
            } catch (IOException e) {
                throw new IOException(place() + " can't be reached: " + e, e);
            }
            if (status / 100 != 2) {
                throw new IOException(place() + " answered " + status);
            }
        }

        private String place() {
            return url.getScheme() + "://" + url.getHost() + (url.getPort() < 0 ? "" : ":" + url.getPort());
        }

        @Override
        public void close() {
            client.shutdownNow();
        }
    }
}
