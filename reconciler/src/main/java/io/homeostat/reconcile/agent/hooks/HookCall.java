package io.homeostat.reconcile.agent.hooks;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.platform.HttpRequests;
import io.homeostat.observe.process.CommandOutput;
import io.homeostat.observe.process.Executables;
import io.homeostat.observe.process.UserSwitch;
import io.homeostat.reconcile.secrets.DeclaredSecrets;
import io.homeostat.reconcile.secrets.SecretMask;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import javax.net.ssl.SSLException;

/** One way to tell somebody of an event. */
sealed interface HookCall {
    /**
     * The way that a hook declares.
     *
     * @param directory of ours, for what is only there during a call
     * @throws RuntimeException when it can't be told at all; the message may quote the URL, which may be secret
     */
    static HookCall of(AgentConfig.Hook hook, Path directory) {
        return hook.webhook() == null
                ? new Exec(hook.exec(), hook.timeout(), directory)
                : new Webhook(URI.create(hook.webhook()), hook.timeout());
    }

    /**
     * Tells it and waits until it was taken, as long as one attempt may take.
     *
     * @throws IOException when it was not taken; the message says why, without arguments and paths, which may be secret
     */
    void tell(HookMessage message) throws IOException, InterruptedException;

    /**
     * A program: the event on its standard input, a few variables, nothing of the agent's environment.
     *
     * @param directory where the event is put for it; a file, because one that does not read would hold up who writes to a pipe
     */
    record Exec(ImmutableList<String> command, Duration timeout, Path directory) implements HookCall {
        @Override
        public void tell(HookMessage message) throws IOException, InterruptedException {
            if (command.isEmpty()) {
                throw new IOException("exec names no program; correct it");
            }
            String program = command.getFirst();
            Path file = Executables.find(program)
                    .orElseThrow(() -> new IOException(
                            program + " is not there, or may not be executed; install it or correct exec"));
            Optional<String> problem = UserSwitch.problem(file);
            if (problem.isPresent()) {
                throw new IOException(problem.get());
            }
            ProcessBuilder builder = new ProcessBuilder(ImmutableList.<String>builder()
                            .add(file.toString())
                            .addAll(command.subList(1, command.size()))
                            .build())
                    .directory(new File("/"))
                    .redirectErrorStream(true);
            Map<String, String> environment = builder.environment();
            environment.clear();
            environment.put("PATH", Executables.DEFAULT_PATH);
            environment.put("LANG", "C.UTF-8");
            environment.put("HOMEOSTAT_EVENT", message.event());
            environment.put("HOMEOSTAT_WORKLOAD", message.workload());
            Process process = start(builder, message.json());
            try {
                CommandOutput output = new CommandOutput();
                if (!output.awaitEnd(process, timeout)) {
                    throw new IOException(program + " did not end within " + timeout.toMillis()
                            + " ms and was killed; make it quicker, or set timeout");
                }
                SecretMask mask = new SecretMask();
                DeclaredSecrets.learnArguments(command.subList(1, command.size()), mask);
                String said = output.lastLines(mask::mask);
                if (process.exitValue() != 0) {
                    throw new IOException(program + " exited with status " + process.exitValue()
                            + (said.isEmpty() ? "" : ": " + said));
                }
            } finally {
                CommandOutput.kill(process);
            }
        }

        /** The program has the file open, so that its name is of no use any more. */
        private Process start(ProcessBuilder builder, String json) throws IOException {
            Path input = Files.createTempFile(directory, "hook-", ".json");
            try {
                Files.writeString(input, json);
                return builder.redirectInput(input.toFile()).start();
            } finally {
                Files.delete(input);
            }
        }
    }

    /** A web server. */
    record Webhook(URI url, Duration timeout) implements HookCall {
        @Override
        public void tell(HookMessage message) throws IOException, InterruptedException {
            HttpRequest request = HttpRequests.authorized(url)
                    .timeout(timeout)
                    .header("Content-Type", "application/json")
                    .POST(HttpRequest.BodyPublishers.ofString(message.json()))
                    .build();
            int status;
            HttpClient client = HttpRequests.client().connectTimeout(timeout).build();
            try {
                HttpResponse<InputStream> answer = client.send(request, HttpResponse.BodyHandlers.ofInputStream());
                status = answer.statusCode();
            } catch (IOException e) {
                throw new IOException(place() + " can't be reached: " + why(e), e);
            } finally {
                // The rest of the answer is not waited for: the timeout is over its beginning only.
                client.shutdownNow();
            }
            if (status / 100 != 2) {
                throw new IOException(place() + " answered " + status);
            }
        }

        /** Most of these have no message, and the rest might quote the URL. */
        private static String why(IOException e) {
            return switch (e) {
                case HttpTimeoutException late -> "it did not answer in time";
                case ConnectException refused -> "nobody listens there, or its name is not known";
                case SSLException broken -> "no TLS connection could be made";
                default -> "the connection broke off (" + e.getClass().getSimpleName() + ")";
            };
        }

        private String place() {
            return url.getScheme() + "://" + url.getHost() + (url.getPort() < 0 ? "" : ":" + url.getPort());
        }
    }
}
