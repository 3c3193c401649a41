package io.homeostat.actuate.launch;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.TestBed;
import io.homeostat.actuate.launch.Launcher.LaunchRequest;
import io.homeostat.actuate.limits.LimitEnforcer.CgroupPlan;
import io.homeostat.desired.model.ProcessSettings;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** An agent in a process of its own that launches one program and then waits to be killed. */
final class LaunchingJvm implements AutoCloseable {
    private final Process process;

    private LaunchingJvm(Process process) {
        this.process = process;
    }

    static LaunchingJvm start(Path root, String launchId, Path program) throws IOException {
        return start(List.of(), root, launchId, program, "");
    }

    /**
     * Starts it.
     *
     * @param prefix a command that executes the rest of its arguments
     * @param user empty for the same user
     */
    static LaunchingJvm start(List<String> prefix, Path root, String launchId, Path program, String user)
            throws IOException {
        return start(prefix, root, launchId, program, user, "");
    }

    /** @param nice empty when it is not declared */
    static LaunchingJvm start(List<String> prefix, Path root, String launchId, Path program, String user, String nice)
            throws IOException {
        List<String> command = new ArrayList<>(prefix);
        command.addAll(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                LaunchingJvm.class.getName(),
                root.toString(),
                launchId,
                program.toString(),
                user,
                nice));
        return new LaunchingJvm(new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start());
    }

    /** What it said of its launch. */
    @Nullable
    String answer() throws IOException {
        try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
            return lines.readLine();
        }
    }

    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    @Override
    public void close() throws InterruptedException {
        kill();
    }

    public static void main(String[] arguments) throws Exception {
        TestBed bed = new TestBed(Path.of(arguments[0]));
        LaunchRequest request = new LaunchRequest(
                TestBed.instance(TestBed.PROCESS, arguments[1], Instant.now()),
                Path.of(arguments[2]),
                ImmutableList.of(),
                ImmutableMap.of(),
                arguments[3].isEmpty() ? null : arguments[3],
                new ProcessSettings(
                        null,
                        null,
                        null,
                        null,
                        arguments[4].isEmpty() ? null : Integer.valueOf(arguments[4]),
                        null,
                        null));
        try {
            System.out.println(bed.launcher.launch(request, CgroupPlan.NONE));
        } catch (ActuationFailure e) {
            System.out.println(e.getMessage());
        }
        int _ = System.in.read();
    }
}
