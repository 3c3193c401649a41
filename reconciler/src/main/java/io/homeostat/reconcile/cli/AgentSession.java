package io.homeostat.reconcile.cli;

import com.google.protobuf.ByteString;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.Format;
import io.homeostat.proto.agent.Input;
import io.homeostat.proto.agent.Output;
import io.homeostat.proto.agent.Presentation;
import io.homeostat.reconcile.agent.api.ApiClient;
import io.homeostat.reconcile.agent.api.ApiException;
import io.homeostat.reconcile.command.Command;
import io.homeostat.reconcile.command.Command.Reading;
import io.homeostat.reconcile.command.Typing;
import io.homeostat.reconcile.command.Workspace;
import io.homeostat.reconcile.command.environment.AgentFile;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.Environment;
import io.homeostat.reconcile.command.environment.Environment.Interrupts;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.Version;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.TerminalSize;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeoutException;

/** Has the agent that runs on a state directory do what was asked for; when none does, or none is needed, it is done here. */
public final class AgentSession {
    private final Workspace workspace;
    private final Console console;
    private final Duration patience;

    public AgentSession(Workspace workspace) {
        this(workspace, ApiClient.PATIENCE);
    }

    public AgentSession(Workspace workspace, Duration patience) {
        this.workspace = workspace;
        this.console = workspace.console();
        this.patience = patience;
    }

    public int run(Command command) throws InterruptedException {
        Optional<AgentFile> agent = command.needsNoAgent() ? Optional.empty() : AgentFile.running(workspace.layout());
        return agent.isPresent() ? ask(agent.get(), command) : workspace.run(command);
    }

    private int ask(AgentFile agent, Command command) throws InterruptedException {
        String who = "the agent (pid " + agent.identity().pid() + ", version " + agent.version() + ")";
        // Who only looks can be ended at any time.
        Optional<Reading> reading = command.reading();
        if (reading.isPresent()) {
            return talk(who, agent, command, reading.get());
        }
        try (Interrupts.Guard _ = command.onlyLooks()
                        ? () -> {}
                        : workspace.environment().interrupts().guard();
                ApiClient client = new ApiClient(agent.socket(), patience)) {
            return client.run(request(command), new ToConsole(command.goesOn()));
        } catch (InterruptedException e) {
            console.say(workspace.word() + ": interrupted; " + who + " goes on with what is declared");
            throw e;
        } catch (ApiException e) {
            return failed(who, agent, command, e);
        }
    }

    /** Nothing is read before the agent has heard: if it has not, the command may be run without it. */
    private int talk(String who, AgentFile agent, Command command, Reading reading) throws InterruptedException {
        try (Interrupts.Guard _ = workspace.environment().interrupts().guard();
                ApiClient client = new ApiClient(agent.socket(), patience);
                ApiClient.Talk talk = client.talk(request(command));
                Typing typing = Typing.begin(workspace, reading, new ToAgent(talk))) {
            ToConsole output = new ToConsole(true);
            while (true) {
                Output piece = talk.next();
                switch (piece.getPieceCase()) {
                    case STANDARD_OUTPUT -> output.standardOutput(piece.getStandardOutput());
                    case STANDARD_ERROR -> {
                        if (reading.terminal()) {
                            // A message: what runs at a terminal has no standard error of its own.
                            typing.leaveTerminal();
                        }
                        output.standardError(piece.getStandardError());
                    }
                    case EXIT_STATUS -> {
                        return piece.getExitStatus();
                    }
                    case PIECE_NOT_SET -> {
                        // It says something that this version does not know of.
                    }
                }
                if (!output.readsOn()) {
                    return ExitStatus.UNREAD;
                }
            }
        } catch (ApiException e) {
            return failed(who, agent, command, e);
        }
    }

    private record ToAgent(ApiClient.Talk talk) implements Typing.Sink {
        @Override
        public boolean write(ByteString bytes) throws InterruptedException {
            return talk.write(Input.newBuilder().setStandardInput(bytes).build());
        }

        @Override
        public boolean endInput() throws InterruptedException {
            return talk.write(Input.newBuilder().setEnd(true).build());
        }

        @Override
        public boolean resize(int rows, int columns) throws InterruptedException {
            return talk.write(Input.newBuilder()
                    .setSize(io.homeostat.proto.agent.TerminalSize.newBuilder()
                            .setRows(rows)
                            .setColumns(columns))
                    .build());
        }
    }

    private int failed(String who, AgentFile agent, Command command, ApiException e) throws InterruptedException {
        String why = e.getMessage();
        switch (e.kind()) {
            case UNANSWERED -> {
                if (command.reading().isPresent() && e.getCause() instanceof TimeoutException) {
                    throw new CommandFailure(
                            who + " does not answer: " + why + "; whether it has run the command is not known", e);
                }
                if (command.onlyLooks()) {
                    console.say(who + " does not answer: " + why + "; reading "
                            + workspace.layout().stateDir() + " without it");
                    return workspace.run(command);
                }
                throw new CommandFailure(
                        who + " does not answer: " + why + "; see its log, or stop it (kill "
                                + agent.identity().pid() + ") and try again",
                        e);
            }
            case UNKNOWN_CALL ->
                throw new CommandFailure(
                        who + " knows no '" + workspace.word() + "', and this program is version " + Version.current()
                                + "; restart the agent",
                        e);
            case LOST -> {
                if (command.onlyLooks() && command.goesOn()) {
                    console.say(who + " went away: " + why + "; going on without it");
                    return command.from(workspace.environment().clock().instant())
                            .run(workspace);
                }
                throw new CommandFailure(
                        who + " went away before it was done: " + why
                                + (command.onlyLooks() ? "" : "; homeostat status shows how far it came"),
                        e);
            }
            case REFUSED, NOT_SERVED -> throw new CommandFailure(who + " refuses: " + why, e);
        }
        throw new IllegalStateException("unreachable", e);
    }

    private CommandRequest request(Command command) throws InterruptedException {
        CommandRequest.Builder request = CommandRequest.newBuilder().setPresentation(presentation(command));
        command.write(request);
        return request.build();
    }

    private Presentation presentation(Command command) throws InterruptedException {
        Environment environment = workspace.environment();
        Presentation.Builder presentation = Presentation.newBuilder()
                .setWord(workspace.word())
                .setFormat(console.json() ? Format.FORMAT_JSON : Format.FORMAT_TEXT)
                .setColour(console.ansi().coloured())
                .setOutputTerminal(environment.outIsDrawable())
                .setErrorTerminal(environment.errIsDrawable());
        if (environment.errIsDrawable() && !command.onlyLooks()) {
            TerminalSize size = TerminalSize.of(environment);
            presentation.setColumns(size.columns()).setRows(size.rows());
        }
        return presentation.build();
    }

    private final class ToConsole implements ApiClient.Reader {
        private final boolean endless;

        /** @param endless whether it ends when nobody reads; what is done for its effect does not */
        ToConsole(boolean endless) {
            this.endless = endless;
        }

        @Override
        public void standardOutput(ByteString bytes) {
            write(bytes, console.out());
        }

        @Override
        public void standardError(ByteString bytes) {
            write(bytes, console.err());
        }

        @Override
        public boolean readsOn() {
            return !endless || console.isRead();
        }

        private static void write(ByteString bytes, PrintStream stream) {
            try {
                bytes.writeTo(stream);
                stream.flush();
            } catch (IOException e) {
                throw new UncheckedIOException("a PrintStream throws nothing", e);
            }
        }
    }
}
