package io.homeostat.reconcile.agent.guest;

import io.homeostat.reconcile.agent.frontend.ScriptedProcess;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;

/** A runtime like runc whose containers are only files, in the directory that it is told to use. */
final class FakeRuntime implements FakeCommands.Program {
    static final Path PROGRAM = Path.of("/fake/runc");

    /** The index of the subcommand, after the options that each command has. */
    private static final int VERB = 5;

    private final Path root;
    private volatile String statistics = "{}";

    FakeRuntime(Path root) {
        this.root = root;
    }

    /** Puts a container into a state, as runc calls it. */
    synchronized void set(String id, String state) {
        try {
            Files.createDirectories(root.resolve(id));
            Files.writeString(root.resolve(id).resolve("status"), state);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the state of a container; empty when there is none. */
    synchronized String state(String id) {
        try {
            return Files.readString(root.resolve(id).resolve("status"));
        } catch (NoSuchFileException e) {
            return "";
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Sets the answer to {@code events --stats}. */
    void statistics(String json) {
        statistics = json;
    }

    @Override
    public synchronized ScriptedProcess run(List<String> command) throws IOException {
        if (!command.subList(1, VERB).equals(List.of("--root", root.toString(), "--log-format", "json"))) {
            return failed("options: " + command);
        }
        List<String> words = command.subList(VERB, command.size());
        String id = words.getLast();
        switch (words.getFirst()) {
            case "features" -> {
                return ScriptedProcess.ended(
                        0, "{\"linux\": {\"capabilities\": [\"CAP_CHOWN\"], \"seccomp\": {\"enabled\": true}}}", "");
            }
            case "kill" -> {
                return kill(words);
            }
            case "delete" -> {
                try (var files = Files.list(root.resolve(id))) {
                    for (Path file : files.toList()) {
                        Files.delete(file);
                    }
                }
                Files.delete(root.resolve(id));
                return done("");
            }
            default -> {
                return !state(id).isEmpty() ? known(words.getFirst(), id) : unknown(id);
            }
        }
    }

    private ScriptedProcess known(String verb, String id) throws IOException {
        switch (verb) {
            case "state" -> {
                return done("{\"status\": \"" + state(id) + "\"}");
            }
            case "pause" -> set(id, "paused");
            case "resume" -> set(id, Files.deleteIfExists(root.resolve(id).resolve("dying")) ? "stopped" : "running");
            case "events" -> {
                return done("{\"data\": " + statistics + "}");
            }
            case "update" -> {
                return done("");
            }
            default -> {
                return failed("no such command: " + verb);
            }
        }
        return done("");
    }

    /** Kills a container; like with runc, a paused one stays paused and dies when it is resumed. */
    private ScriptedProcess kill(List<String> words) throws IOException {
        boolean isAll = words.get(1).equals("--all");
        String id = words.get(isAll ? 2 : 1);
        if (state(id).isEmpty()) {
            return unknown(id);
        }
        boolean isKill = isAll || words.get(2).equals("9");
        if (isKill && state(id).equals("paused")) {
            Files.writeString(root.resolve(id).resolve("dying"), "");
        } else if (isKill) {
            set(id, "stopped");
        }
        return done("");
    }

    private static ScriptedProcess done(String stdout) {
        return ScriptedProcess.ended(0, stdout, "");
    }

    private static ScriptedProcess unknown(String id) {
        return failed("container \\\"" + id + "\\\" does not exist");
    }

    private static ScriptedProcess failed(String message) {
        return ScriptedProcess.ended(1, "", "{\"level\": \"error\", \"msg\": \"" + message + "\"}\n");
    }
}
