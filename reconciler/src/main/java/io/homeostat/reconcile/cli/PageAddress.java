package io.homeostat.reconcile.cli;

import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.platform.Layout;
import io.homeostat.observe.process.Executables;
import io.homeostat.reconcile.command.environment.AgentFile;
import io.homeostat.reconcile.command.environment.AgentService;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.output.Json;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Where the running agent serves its page, as the agent has written it down for its user. */
final class PageAddress {
    private static final String BROWSER = "xdg-open";
    private static final String SETTING = "ui: {listen: \"127.0.0.1:9465\"}";
    private static final int PATIENCE_SECONDS = 10;

    private final Invocation typed;

    PageAddress(Invocation typed) {
        this.typed = typed;
    }

    /** Prints it, with its token, or has it opened; returns the exit status. */
    int tell() throws InterruptedException {
        Layout here = typed.workspace().layout();
        AgentFile agent = AgentFile.running(here)
                .orElseThrow(() -> new CommandFailure("no agent runs on " + here.stateDir()
                        + ", and it is the agent that serves the page; "
                        + (isConfigured()
                                ? ""
                                : "write " + SETTING + " in "
                                        + typed.configFile().path() + ", and ")
                        + "start it: " + AgentService.start(here)));
        Layout layout = agent.at(here);
        String url = read(layout.uiAddress(), agent);
        if (!typed.arguments().flag(Syntax.OPEN)) {
            print(url);
            return ExitStatus.OK;
        }
        try {
            open(layout.uiEntrance());
        } catch (CommandFailure e) {
            print(url);
            throw e;
        }
        // The browser uses its token up, so there is nothing left to print.
        return ExitStatus.OK;
    }

    private boolean isConfigured() {
        AgentConfig config =
                typed.configFile().exists() ? typed.configFile().look().config() : null;
        return config != null && !config.ui().listen().isEmpty();
    }

    private void print(String url) {
        if (typed.console().json()) {
            Json.print(typed.console().out(), Json.versioned().put("url", url));
        } else {
            typed.console().out().println(url);
        }
        typed.console().out().flush();
    }

    private String read(Path file, AgentFile agent) {
        try {
            return Files.readString(file).strip();
        } catch (NoSuchFileException e) {
            long pid = agent.identity().pid();
            throw new CommandFailure(
                    "the agent (pid " + pid + ") serves no page; write " + SETTING + " in "
                            + typed.configFile().path() + ", and have it read that: kill -HUP " + pid
                            + " (where it stands there already, homeostat status says what is wrong)",
                    e);
        } catch (IOException e) {
            throw new CommandFailure(
                    "cannot read " + file + ", which only the agent's user can: " + CommandFailure.reason(e), e);
        }
    }

    /** By a file that leads there: everybody sees the arguments of a process, and so the token if it were one. */
    private void open(Path entrance) throws InterruptedException {
        Optional<Path> browser = Executables.find(BROWSER, typed.environment().variable("PATH"));
        if (browser.isEmpty()) {
            throw new CommandFailure("there is no " + BROWSER + " here; open the address in a browser yourself");
        }
        try {
            Process process = new ProcessBuilder(browser.get().toString(), entrance.toString())
                    .redirectInput(Redirect.from(Path.of("/dev/null").toFile()))
                    .redirectOutput(Redirect.DISCARD)
                    .redirectError(Redirect.DISCARD)
                    .start();
            // A browser in a terminal goes on for as long as somebody reads.
            if (process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS) && process.exitValue() != 0) {
                throw new CommandFailure(BROWSER + " ended with status " + process.exitValue()
                        + "; open the address in a browser yourself");
            }
        } catch (IOException e) {
            throw new CommandFailure("cannot start " + BROWSER + ": " + CommandFailure.reason(e), e);
        }
    }
}
