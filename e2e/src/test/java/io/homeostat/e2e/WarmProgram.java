package io.homeostat.e2e;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.logging.LogManager;
import java.util.logging.Logger;

/**
 * The built program in class loaders of this JVM: one for commands, and one for each agent that runs at the same time. A process costs
 * half a second of processor time for a question, more than one for an apply or an agent. What belongs to the process, such as streams,
 * signals, its exit status and its working directory, is tested with processes.
 */
final class WarmProgram {
    private final Path distribution;
    private final ClassLoader libraries;
    private final ProgramClasses commands;
    private final ByteArrayOutputStream logged = new ByteArrayOutputStream();

    /** Classes that an agent has used and another one may use; guarded by this. */
    private final Deque<ProgramClasses> free = new ArrayDeque<>();

    /** Agents that have not ended; guarded by this. */
    private final List<WarmAgent> agents = new ArrayList<>();

    /** @param distribution the directory that the build leaves */
    WarmProgram(Path distribution) {
        this.distribution = distribution;
        this.libraries = ProgramClasses.libraries(distribution);
        this.commands = new ProgramClasses(distribution, libraries);
        keepLog();
        Thread.setDefaultUncaughtExceptionHandler(this::uncaught);
    }

    /** Whether any command has logged this, or anything else in this JVM: the log goes to standard error, whoever runs the command. */
    boolean hasLogged(String text) {
        return logged.toString(StandardCharsets.UTF_8).contains(text);
    }

    /** What is written to standard error from now on is kept, too. */
    private void keepLog() {
        PrintStream before = System.err;
        System.setErr(new PrintStream(
                new OutputStream() {
                    @Override
                    public void write(int octet) {
                        logged.write(octet);
                        before.write(octet);
                    }

                    @Override
                    public void write(byte[] octets, int from, int length) {
                        logged.write(octets, from, length);
                        before.write(octets, from, length);
                    }
                },
                true,
                StandardCharsets.UTF_8));
    }

    /** A thread of an agent that dies is a defect of the program, and is reported by the agent as its process would. */
    private synchronized void uncaught(Thread thread, Throwable problem) {
        String words = "homeostat: " + thread.getName() + ": " + problem + "; this is a defect of homeostat";
        agents.stream().filter(agent -> agent.isOf(thread)).forEach(agent -> agent.say(words));
        System.err.println(words);
        problem.printStackTrace();
    }

    /** Runs a command to its end. */
    Result run(Path directory, List<String> arguments) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        long before = System.nanoTime();
        int exit = commands.run(
                arguments,
                Map.of(
                        "workingDirectory",
                        directory,
                        "interrupts",
                        commands.noInterrupts(),
                        "out",
                        new PrintStream(out, false, StandardCharsets.UTF_8),
                        "err",
                        new PrintStream(err, false, StandardCharsets.UTF_8),
                        "outIsTerminal",
                        false,
                        "errIsTerminal",
                        false));
        return new Result(
                String.join(" ", arguments) + " (in this JVM)",
                exit,
                out.toString(StandardCharsets.UTF_8),
                err.toString(StandardCharsets.UTF_8),
                Duration.ofNanos(System.nanoTime() - before));
    }

    /**
     * Starts a command that runs until it is told to end.
     *
     * @param variables the environment variables that it has
     */
    synchronized WarmAgent start(Path directory, List<String> arguments, Map<String, String> variables) {
        ProgramClasses classes = free.isEmpty() ? new ProgramClasses(distribution, libraries) : free.pop();
        WarmAgent agent = new WarmAgent(classes, directory, arguments, variables, this::ended);
        agents.add(agent);
        agent.start();
        return agent;
    }

    private synchronized void ended(WarmAgent agent) {
        agents.remove(agent);
        // The last one first: its classes are compiled.
        free.push(agent.classes());
        // Each agent takes over what libraries log by java.util.logging, and gives it back to whoever had it before,
        // who may have ended.
        Logger root = LogManager.getLogManager().getLogger("");
        Arrays.stream(root.getHandlers())
                .filter(handler -> free.stream().anyMatch(classes -> classes.isOf(handler)))
                .forEach(root::removeHandler);
    }
}
