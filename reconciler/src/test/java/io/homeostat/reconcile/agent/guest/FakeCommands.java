package io.homeostat.reconcile.agent.guest;

import io.homeostat.reconcile.agent.frontend.Gate;
import io.homeostat.reconcile.agent.frontend.ManualTicker;
import io.homeostat.reconcile.agent.frontend.ProcessStarter;
import io.homeostat.reconcile.agent.frontend.ScriptedProcess;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/** The programs of a machine: each is a function of its arguments, and fails or hangs when a test says so. */
final class FakeCommands implements ProcessStarter {
    /** A time that no command may take. */
    private static final Duration LONG = Duration.ofMinutes(5);

    private final ManualTicker ticker;
    private final Gate gate;
    private final List<List<String>> started = new CopyOnWriteArrayList<>();
    private final List<ScriptedProcess> hanging = new CopyOnWriteArrayList<>();
    private final Map<String, Program> programs = new ConcurrentHashMap<>();
    private final Deque<Fault> faults = new ArrayDeque<>();
    private volatile Runnable beforeEach = () -> {};

    /** A program of the machine. */
    interface Program {
        ScriptedProcess run(List<String> command) throws IOException;
    }

    private record Fault(String words, Program program) {}

    FakeCommands(ManualTicker ticker) {
        this(ticker, new Gate());
    }

    FakeCommands(ManualTicker ticker, Gate gate) {
        this.gate = gate;
        this.ticker = ticker;
    }

    /** Installs a program. */
    void install(String name, Program program) {
        programs.put(name, program);
    }

    /** The next command that contains these words does this instead. */
    void replaceNext(String words, Program program) {
        synchronized (faults) {
            faults.add(new Fault(words, program));
        }
    }

    /** Calls this before each command. */
    void beforeEach(Runnable check) {
        beforeEach = check;
    }

    /** The guest agent is killed before or after the next command that contains these words. */
    void killAt(String words, boolean isDone, KillPoint kill) {
        beforeEach(kill::check);
        replaceNext(words, command -> {
            if (isDone) {
                Program program = Objects.requireNonNull(programs.get(command.getFirst()));
                ScriptedProcess _ = program.run(command);
            }
            throw kill.kill();
        });
    }

    /** The next command that contains these words fails. */
    void failNext(String words, String said) {
        replaceNext(words, command -> ScriptedProcess.ended(1, "", said));
    }

    /** The next command that contains these words can't be started. */
    void refuseNext(String words) {
        replaceNext(words, command -> {
            throw new IOException("no such program");
        });
    }

    /** The next command that contains these words does not end before its timeout. */
    void hangNext(String words) {
        replaceNext(words, command -> {
            ScriptedProcess process = new ScriptedProcess(() -> ticker.advance(LONG));
            hanging.add(process);
            return process;
        });
    }

    /** Returns the commands that hang or were killed for that. */
    List<ScriptedProcess> hanging() {
        return hanging;
    }

    /** Returns all command lines so far, each as one text. */
    List<String> lines() {
        return started.stream().map(command -> String.join(" ", command)).toList();
    }

    /** Returns the command lines that begin with these words. */
    List<String> lines(String words) {
        return lines().stream().filter(line -> line.startsWith(words)).toList();
    }

    void forgetLines() {
        started.clear();
    }

    @Override
    public Process start(ProcessBuilder builder) throws IOException {
        gate.enter();
        try {
            return startNow(builder);
        } finally {
            gate.leave();
        }
    }

    private Process startNow(ProcessBuilder builder) throws IOException {
        beforeEach.run();
        List<String> command = List.copyOf(builder.command());
        started.add(command);
        Program program = fault(String.join(" ", command));
        if (program == null) {
            program = programs.get(command.getFirst());
        }
        if (program == null) {
            throw new IOException("there is no program " + command.getFirst());
        }
        return program.run(command);
    }

    private @Nullable Program fault(String line) {
        synchronized (faults) {
            for (Fault fault : faults) {
                if (line.contains(fault.words())) {
                    faults.remove(fault);
                    return fault.program();
                }
            }
            return null;
        }
    }
}
