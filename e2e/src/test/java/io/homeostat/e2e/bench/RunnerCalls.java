package io.homeostat.e2e.bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.homeostat.e2e.GoDriver;
import io.homeostat.e2e.measure.Workplace;
import java.io.IOException;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/** What a driver is asked for, as its log tells: a line of hclog for each call. */
final class RunnerCalls {
    private static final Duration LOOK = Duration.ofMillis(5);
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Path program;
    private final Path log;
    private final String settings;
    private final List<Call> calls = new ArrayList<>();
    private long read;

    /** One call: which, and when it came. */
    record Call(String rpc, Instant at) {}

    /** @param settings more of its declaration */
    private RunnerCalls(Workplace place, Path driver, String settings) throws IOException {
        this.log = Files.createFile(place.path("runner.calls"));
        // It writes its log to a file that nobody else has.
        this.program = place.executable("driver", "#!/bin/sh\nexec '%s' \"$@\" 2>>'%s'\n".formatted(driver, log));
        this.settings = settings;
    }

    /** Unpacks the sample driver. */
    static RunnerCalls install(Workplace place) throws IOException, InterruptedException {
        Path directory = Files.createDirectories(place.path("runner"));
        String _ = place.run("tar", "xzf", System.getProperty("homeostat.runner"), "-C", directory.toString());
        return new RunnerCalls(
                place,
                directory.resolve("bin/runner"),
                "env: {JAVA_HOME: \"%s\"}".formatted(System.getProperty("java.home")));
    }

    /** Builds the driver in Go, as nearly all are. */
    static RunnerCalls installGo(Workplace place) throws IOException {
        GoDriver driver = GoDriver.build(Files.createDirectories(place.path("runner")));
        return new RunnerCalls(
                place,
                driver.program(),
                "env: {GO_DRIVER_DESCRIPTORS: \"%s\"}, config: {greeting: hello}".formatted(driver.descriptors()));
    }

    /** Declares the driver. */
    String driver(String name) {
        return """
                apiVersion: homeostat.io/v1
                kind: Driver
                metadata: {name: %s}
                spec: {install: local, entryPoint: %s, %s}
                """.formatted(name, program, settings);
    }

    int count(String rpc) throws IOException {
        return of(rpc).size();
    }

    /** Waits until something was asked for so many times; returns the call that made it so many. */
    Call await(String rpc, int count, Duration patience) throws IOException {
        long deadline = System.nanoTime() + patience.toNanos();
        while (true) {
            List<Call> all = of(rpc);
            if (all.size() >= count) {
                return all.get(count - 1);
            }
            if (System.nanoTime() > deadline) {
                throw new IOException("only " + all.size() + " of " + count + " calls of " + rpc + " within "
                        + patience.toSeconds() + " s");
            }
            LockSupport.parkNanos(LOOK.toNanos());
        }
    }

    private List<Call> of(String rpc) throws IOException {
        readOn();
        return calls.stream().filter(call -> call.rpc().equals(rpc)).toList();
    }

    private void readOn() throws IOException {
        byte[] more;
        try (FileChannel file = FileChannel.open(log, StandardOpenOption.READ)) {
            more = Channels.newInputStream(file.position(read)).readAllBytes();
        }
        int begin = 0;
        for (int end = 0; end < more.length; end++) {
            if (more[end] == '\n') {
                note(new String(more, begin, end - begin, StandardCharsets.UTF_8));
                begin = end + 1;
            }
        }
        read += begin;
    }

    private void note(String line) throws IOException {
        // The JVM may write to it, too.
        if (line.startsWith("{")) {
            JsonNode entry = JSON.readTree(line);
            calls.add(new Call(
                    entry.path("rpc").asText(entry.path("@message").asText()),
                    Instant.parse(entry.path("@timestamp").asText())));
        }
    }
}
