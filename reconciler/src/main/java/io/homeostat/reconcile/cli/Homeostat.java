package io.homeostat.reconcile.cli;

import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.platform.Layout;
import io.homeostat.reconcile.command.ApplyCommand;
import io.homeostat.reconcile.command.Attempt;
import io.homeostat.reconcile.command.Command;
import io.homeostat.reconcile.command.ConfigFile;
import io.homeostat.reconcile.command.DirectEnforcer;
import io.homeostat.reconcile.command.Environment;
import io.homeostat.reconcile.command.ExitStatus;
import io.homeostat.reconcile.command.GlobalOptions;
import io.homeostat.reconcile.command.Inputs;
import io.homeostat.reconcile.command.Operation;
import io.homeostat.reconcile.command.Request;
import io.homeostat.reconcile.command.UsageException;
import io.homeostat.reconcile.command.UserDirectories;
import io.homeostat.reconcile.command.Verb;
import io.homeostat.reconcile.command.VersionCommand;
import io.homeostat.reconcile.command.Workspace;
import io.homeostat.reconcile.command.doctor.DoctorCommand;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Ink;
import io.homeostat.reconcile.command.plugin.WatchCommand;
import java.io.PrintStream;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.UnmatchedArgumentException;

/** The program. */
public final class Homeostat {
    private final Environment environment;

    private Homeostat(Environment environment) {
        this.environment = environment;
    }

    /** Runs one command and ends the process with its exit status. */
    public static void main(String[] args) {
        int status = run(args, ThisProcess.environment());
        System.exit(status);
    }

    /** Runs one command; returns its exit status. Whatever goes wrong is said on the environment's {@code err}. */
    static int run(String[] args, Environment environment) {
        try {
            return new Homeostat(environment).run(args);
        } finally {
            environment.out().flush();
            environment.err().flush();
        }
    }

    private int run(String[] args) {
        CommandLine line = Syntax.commandLine();
        ParseResult parsed;
        try {
            parsed = line.parseArgs(withoutHelpAsCommand(args));
        } catch (ParameterException e) {
            return misunderstood(e.getCommandLine(), words(e));
        }
        ParseResult command = parsed;
        while (command.hasSubcommand()) {
            command = command.subcommand();
        }
        Arguments arguments = new Arguments(parsed, command);
        GlobalOptions options = arguments.global();
        if (command.isUsageHelpRequested()) {
            usage(
                    command.commandSpec().commandLine(),
                    environment.out(),
                    isColoured(options, environment.outIsTerminal()));
            return ExitStatus.OK;
        }
        if (!parsed.hasSubcommand() && !parsed.isVersionHelpRequested()) {
            usage(line, environment.err(), isColoured(options, environment.errIsTerminal()));
            return ExitStatus.USAGE;
        }
        Verb verb = parsed.hasSubcommand() ? verb(command.commandSpec().name()) : Verb.VERSION;
        return run(verb, arguments, options, command.commandSpec().commandLine());
    }

    /** What other programs call {@code help COMMAND} is {@code COMMAND --help} here. */
    private static String[] withoutHelpAsCommand(String[] args) {
        if (args.length == 0 || !args[0].equals("help")) {
            return args;
        }
        return Stream.concat(Arrays.stream(args).skip(1), Stream.of("--help")).toArray(String[]::new);
    }

    private int run(Verb verb, Arguments arguments, GlobalOptions options, CommandLine line) {
        options.logLevel().ifPresent(Logging::use);
        Console console = new Console(
                environment.out(),
                environment.err(),
                options.format(),
                new Ink(isColoured(options, environment.outIsTerminal())));
        try {
            int status = new Attempt(verb, console, options.debug())
                    .run(() -> command(verb, arguments, console).run());
            if (environment.out().checkError() && status != ExitStatus.FAILED) {
                // Who reads the result must not take what little arrived for all of it.
                console.say(verb.word() + ": what it found could not be written to standard output");
                return ExitStatus.FAILED;
            }
            return status;
        } catch (UsageException e) {
            return misunderstood(line, e.getMessage());
        } catch (InterruptedException e) {
            // Whoever was interrupted has said what it means.
            return ExitStatus.INTERRUPTED;
        }
    }

    private Command command(Verb verb, Arguments arguments, Console console) {
        return switch (verb) {
            case VALIDATE -> new ValidateCommand(inputs(arguments), console);
            case PLAN,
                    APPLY,
                    DELETE,
                    PAUSE,
                    RESUME,
                    STATUS,
                    EVENTS,
                    LOGS,
                    STOP,
                    START,
                    RESET,
                    VM_EVENT,
                    WATCH,
                    VERIFY,
                    STATES -> asked(verb, arguments, console);
            case RUN -> new RunCommand(environment, console, arguments.global(), agentFile(arguments));
            case DOCTOR -> new DoctorCommand(environment, console, arguments.global(), agentFile(arguments));
            case DIAGNOSTICS ->
                new DiagnosticsCommand(
                        environment,
                        console,
                        arguments.global(),
                        agentFile(arguments),
                        arguments.word().orElse(""));
            case EXPLAIN -> new ExplainCommand(arguments.word().orElse(""), console);
            case SCHEMA -> new SchemaCommand(console);
            case COMPLETION -> new CompletionCommand(arguments.word().orElse("bash"), console);
            case VERSION -> new VersionCommand(console);
            case SELF_TRAIN -> new SelfTrainCommand(environment);
        };
    }

    /** By the agent when one runs on the state directory; then only what speaks to it has to be loaded, else only what does it. */
    private Command asked(Verb verb, Arguments arguments, Console console) {
        Workspace workspace = workspace(arguments, console);
        Optional<Request> request = request(verb, arguments, console);
        if (request.isEmpty()) {
            return () -> ExitStatus.FAILED;
        }
        return Files.exists(workspace.layout().agentFile())
                ? () -> new AgentSession(workspace).run(request.get())
                : request.get().on(workspace);
    }

    /** Empty when the files that it is about are wrong, which was said. */
    private Optional<Request> request(Verb verb, Arguments arguments, Console console) {
        return switch (verb) {
            case PLAN ->
                inputs(arguments)
                        .read(verb, arguments.flag(Syntax.PRUNE), console)
                        .map(given -> new Request.Plan(given, arguments.flag(Syntax.DETAILED_EXIT_CODE)));
            case APPLY -> {
                Duration timeout = arguments.timeout(ApplyCommand.DEFAULT_TIMEOUT);
                yield inputs(arguments)
                        .read(verb, arguments.flag(Syntax.PRUNE), console)
                        .map(given -> new Request.Apply(given, timeout));
            }
            case DELETE ->
                Optional.of(new Request.Delete(arguments.workloads(), arguments.timeout(ApplyCommand.DEFAULT_TIMEOUT)));
            case PAUSE -> Optional.of(new Request.Pause(arguments.workloads(), arguments.reason()));
            case RESUME -> Optional.of(new Request.Resume(arguments.workloads(), arguments.reason()));
            case STATUS -> Optional.of(new Request.Status(arguments.workloads(), arguments.flag(Syntax.WATCH)));
            case EVENTS -> Optional.of(new Request.Events(arguments.flag(Syntax.FOLLOW)));
            case LOGS -> Optional.of(new Request.Logs(arguments.workloads().getFirst(), arguments.flag(Syntax.FOLLOW)));
            case VM_EVENT ->
                Optional.of(new Operation.VmEventTold(
                        Operation.event(arguments.word().orElse(""))));
            case WATCH ->
                Optional.of(new Operation.Watch(
                        WatchCommand.plugin(arguments.workload()),
                        arguments.request().orElse(null),
                        arguments.code(),
                        arguments.timeout(ApplyCommand.DEFAULT_TIMEOUT)));
            case STOP ->
                Optional.of(new Operation.Stop(
                        arguments.workloads(), arguments.reason(), arguments.timeout(ApplyCommand.DEFAULT_TIMEOUT)));
            case START ->
                Optional.of(new Operation.Start(
                        arguments.workloads(), arguments.reason(), arguments.timeout(ApplyCommand.DEFAULT_TIMEOUT)));
            case RESET ->
                Optional.of(new Operation.Reset(
                        arguments.flag(Syntax.YES), arguments.timeout(ApplyCommand.DEFAULT_TIMEOUT)));
            case VERIFY -> Optional.of(new Operation.Verify(arguments.workload(), arguments.revision()));
            case STATES -> Optional.of(new Operation.States());
            default -> throw new IllegalStateException(verb.word() + " is about no state directory");
        };
    }

    private Inputs inputs(Arguments arguments) {
        return new Inputs(environment, arguments.files());
    }

    private ConfigFile agentFile(Arguments arguments) {
        UserDirectories directories = new UserDirectories(environment);
        return arguments
                .config()
                .map(path -> new ConfigFile(directories.absolute(Syntax.CONFIG, path), true))
                .orElseGet(directories::agentFile);
    }

    private Workspace workspace(Arguments arguments, Console console) {
        UserDirectories directories = new UserDirectories(environment);
        AgentConfig config = directories.agentFile().read();
        Layout layout = directories.layout(arguments.global(), config);
        return new Workspace(environment, console, layout, new DirectEnforcer(config));
    }

    private static Verb verb(String word) {
        for (Verb verb : Verb.values()) {
            if (verb.word().equals(word)) {
                return verb;
            }
        }
        throw new IllegalStateException("no command " + word);
    }

    private int misunderstood(CommandLine line, @Nullable String problem) {
        environment
                .err()
                .println("homeostat: " + problem + "; see "
                        + line.getCommandSpec().qualifiedName() + " --help");
        return ExitStatus.USAGE;
    }

    private static String words(ParameterException e) {
        String message = String.valueOf(e.getMessage());
        if (e instanceof UnmatchedArgumentException unmatched) {
            List<String> suggestions = unmatched.getSuggestions();
            if (!suggestions.isEmpty()) {
                return message + "; did you mean " + String.join(" or ", suggestions) + "?";
            }
        }
        return message;
    }

    private void usage(CommandLine line, PrintStream out, boolean coloured) {
        line.usage(out, coloured ? Ansi.ON : Ansi.OFF);
    }

    /** https://no-color.org: any value but the empty one. */
    private boolean isColoured(GlobalOptions options, boolean terminal) {
        return terminal
                && !options.noColor()
                && environment.variable("NO_COLOR").isEmpty()
                && !environment.variable("TERM").equals("dumb");
    }
}
