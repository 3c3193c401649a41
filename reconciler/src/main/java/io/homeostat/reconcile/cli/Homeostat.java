package io.homeostat.reconcile.cli;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.yaml.Suggestion;
import io.homeostat.reconcile.command.environment.Environment;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.GlobalOptions;
import io.homeostat.reconcile.command.environment.GlobalOptions.OutputFormat;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.output.Ansi;
import io.homeostat.reconcile.command.output.Console;
import java.io.PrintStream;
import java.util.Arrays;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.UnmatchedArgumentException;

/** The program, without what belongs to its process. */
public final class Homeostat {
    private final Environment environment;

    private Homeostat(Environment environment) {
        this.environment = environment;
    }

    /** Runs one command; returns its exit status. Errors are printed to the environment's {@code err}. */
    static int run(String[] args, Environment environment) {
        try {
            return new Homeostat(environment).run(args);
        } finally {
            environment.out().flush();
            environment.err().flush();
        }
    }

    private int run(String[] args) {
        ParseResult parsed;
        try {
            parsed = parsed(withoutHelpAsCommand(args));
            if (!parsed.hasSubcommand() && !parsed.unmatched().isEmpty()) {
                // Whoever asks for help on a word that is no command is told so all the same.
                throw new UnmatchedArgumentException(parsed.commandSpec().commandLine(), parsed.unmatched());
            }
        } catch (ParameterException e) {
            return misunderstood(Arguments.asksForJson(args), e.getCommandLine(), words(e));
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
            CommandLine line = parsed.commandSpec().commandLine();
            if (options.format() == OutputFormat.JSON) {
                return misunderstood(true, line, "no command was given");
            }
            usage(line, environment.err(), isColoured(options, environment.errIsTerminal()));
            return ExitStatus.USAGE;
        }
        Verb verb = parsed.hasSubcommand() ? verb(command.commandSpec().name()) : Verb.VERSION;
        return run(verb, arguments, options, command.commandSpec().commandLine());
    }

    /** Describing a command takes as long as running many of them: all are described only for help and for errors. */
    private static ParseResult parsed(String[] args) {
        ImmutableSet<String> words = ImmutableSet.copyOf(args);
        try {
            ParseResult parsed =
                    Syntax.commandLine(verb -> words.contains(verb.word())).parseArgs(args);
            if (parsed.hasSubcommand()) {
                return parsed;
            }
        } catch (ParameterException e) {
            // All commands together say more: which one may have been meant.
        }
        return Syntax.commandLine().parseArgs(args);
    }

    /** What other programs call {@code help COMMAND} is {@code COMMAND --help} here. */
    private static String[] withoutHelpAsCommand(String[] args) {
        if (args.length == 0 || !args[0].equals("help")) {
            return args;
        }
        return Stream.concat(Arrays.stream(args).skip(1), Stream.of("--help")).toArray(String[]::new);
    }

    private int run(Verb verb, Arguments arguments, GlobalOptions options, CommandLine line) {
        options.logLevel().ifPresent(StandardErrorLog::use);
        Console console = new Console(
                environment.out(),
                environment.err(),
                options.format(),
                new Ansi(isColoured(options, environment.outIsTerminal())));
        try {
            int status = console.tellFailures(
                    verb.word(),
                    options.debug(),
                    () -> verb.run(new Invocation(verb.word(), environment, console, arguments)));
            if (environment.out().checkError() && status != ExitStatus.FAILED) {
                // Who reads the result must not take what little arrived for all of it.
                console.say(verb.word() + ": what it found could not be written to standard output");
                status = ExitStatus.FAILED;
            }
            return verb.exitStatus(status);
        } catch (UsageException e) {
            return misunderstood(console.json(), line, e.getMessage());
        } catch (InterruptedException e) {
            // Whoever was interrupted has said what it means.
            return ExitStatus.INTERRUPTED;
        }
    }

    private static Verb verb(String word) {
        for (Verb verb : Verb.values()) {
            if (verb.word().equals(word)) {
                return verb;
            }
        }
        throw new IllegalStateException("no command " + word);
    }

    private int misunderstood(boolean json, CommandLine line, @Nullable String problem) {
        new Console(environment.out(), environment.err(), json ? OutputFormat.JSON : OutputFormat.TEXT, new Ansi(false))
                .misunderstood(
                        line.getCommandName(),
                        problem + "; see " + line.getCommandSpec().qualifiedName() + " --help");
        return ExitStatus.USAGE;
    }

    private static String words(ParameterException e) {
        String message = String.valueOf(e.getMessage());
        if (e instanceof UnmatchedArgumentException unmatched
                && !unmatched.getUnmatched().isEmpty()) {
            String written = unmatched.getUnmatched().getFirst();
            boolean isCommand = !written.startsWith("-")
                    && !e.getCommandLine().getSubcommands().isEmpty();
            return (isCommand ? "'" + written + "' is no command" : message)
                    + Suggestion.of(written, meant(written, e.getCommandLine()))
                            .map(meant -> "; did you mean " + meant + "?")
                            .orElse("");
        }
        return message;
    }

    /** Nobody is led by a typing error to what can't be undone. */
    private static ImmutableList<String> meant(String written, CommandLine line) {
        CommandSpec spec = line.getCommandSpec();
        if (written.startsWith("-")) {
            return spec.optionsMap().keySet().stream()
                    .filter(option -> option.startsWith("--") && !option.equals(Syntax.YES))
                    .collect(ImmutableList.toImmutableList());
        }
        return Arrays.stream(Verb.values())
                .filter(verb -> spec.subcommands().containsKey(verb.word()) && !verb.hidden() && !verb.destroys())
                .map(Verb::word)
                .collect(ImmutableList.toImmutableList());
    }

    private void usage(CommandLine line, PrintStream out, boolean coloured) {
        line.usage(out, coloured ? CommandLine.Help.Ansi.ON : CommandLine.Help.Ansi.OFF);
    }

    /** https://no-color.org: any value but the empty one. */
    private boolean isColoured(GlobalOptions options, boolean terminal) {
        return terminal
                && !options.noColor()
                && environment.variable("NO_COLOR").isEmpty()
                && !environment.variable("TERM").equals("dumb");
    }
}
