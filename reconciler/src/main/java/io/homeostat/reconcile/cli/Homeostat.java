package io.homeostat.reconcile.cli;

import io.homeostat.reconcile.command.environment.Environment;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.GlobalOptions;
import io.homeostat.reconcile.command.environment.GlobalOptions.OutputFormat;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.output.Ansi;
import io.homeostat.reconcile.command.output.Console;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
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
        Optional<UsualLine> usual = UsualLine.of(args);
        return usual.isPresent()
                ? run(usual.get().verb(), usual.get().arguments())
                : new Unusual().run(withoutHelpAsCommand(args));
    }

    /** What other programs call {@code help COMMAND} is {@code COMMAND --help} here, also after options. */
    private static String[] withoutHelpAsCommand(String[] args) {
        List<String> words = new ArrayList<>(List.of(args));
        int help = words.indexOf("help");
        if (help < 0 || !areOptions(words.subList(0, help))) {
            return args;
        }
        words.remove(help);
        words.add("--help");
        return words.toArray(String[]::new);
    }

    private static boolean areOptions(List<String> words) {
        try {
            ParseResult parsed = Usage.parsed(words.toArray(String[]::new));
            return !parsed.hasSubcommand() && parsed.unmatched().isEmpty();
        } catch (ParameterException e) {
            return false;
        }
    }

    private int run(Verb verb, Arguments arguments) {
        GlobalOptions options = arguments.global();
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
            return misunderstood(console.json(), verb.word(), "homeostat " + verb.word(), e.getMessage());
        } catch (InterruptedException e) {
            // Whoever was interrupted has said what it means.
            return ExitStatus.INTERRUPTED;
        }
    }

    private int misunderstood(boolean json, String command, String qualified, @Nullable String problem) {
        new Console(environment.out(), environment.err(), json ? OutputFormat.JSON : OutputFormat.TEXT, new Ansi(false))
                .misunderstood(command, problem + "; see " + qualified + " --help");
        return ExitStatus.USAGE;
    }

    /** https://no-color.org: any value but the empty one. */
    private boolean isColoured(GlobalOptions options, boolean terminal) {
        return terminal
                && !options.noColor()
                && environment.variable("NO_COLOR").isEmpty()
                && !environment.variable("TERM").equals("dumb");
    }

    /** What is not plain: help, other ways to write it, and mistakes. */
    private final class Unusual {
        int run(String[] args) {
            ParseResult parsed;
            try {
                parsed = Usage.parsed(args);
                if (!parsed.hasSubcommand() && !parsed.unmatched().isEmpty()) {
                    // Whoever asks for help on a word that is no command is told so all the same.
                    throw new UnmatchedArgumentException(parsed.commandSpec().commandLine(), parsed.unmatched());
                }
            } catch (ParameterException e) {
                return misunderstood(Arguments.asksForJson(args), e.getCommandLine(), Usage.words(e));
            }
            ParseResult command = parsed;
            while (command.hasSubcommand()) {
                command = command.subcommand();
            }
            Arguments arguments = Usage.arguments(parsed, command);
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
            Verb verb = parsed.hasSubcommand()
                    ? Verb.of(command.commandSpec().name()).orElseThrow()
                    : Verb.VERSION;
            return Homeostat.this.run(verb, arguments);
        }

        private int misunderstood(boolean json, CommandLine line, @Nullable String problem) {
            return Homeostat.this.misunderstood(
                    json, line.getCommandName(), line.getCommandSpec().qualifiedName(), problem);
        }

        private static void usage(CommandLine line, PrintStream out, boolean coloured) {
            line.usage(out, coloured ? CommandLine.Help.Ansi.ON : CommandLine.Help.Ansi.OFF);
        }
    }
}
