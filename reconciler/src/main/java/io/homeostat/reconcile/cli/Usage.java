package io.homeostat.reconcile.cli;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.yaml.Suggestion;
import io.homeostat.reconcile.cli.Arguments.Typed;
import io.homeostat.reconcile.cli.Syntax.Option;
import io.homeostat.reconcile.cli.Syntax.Parameter;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.TypeConversionException;
import picocli.CommandLine.UnmatchedArgumentException;

/**
 * The command line as picocli reads it, for help, for completion and for what is unusual or wrong: no class of picocli can be in the
 * cache of classes, so what is usual is read without it ({@link UsualLine}).
 */
final class Usage {
    static final String PROGRAM = "-- COMMAND";

    private static final String END_OF_OPTIONS = "--";

    private Usage() {}

    /** The grammar of the whole command line. */
    static CommandLine commandLine() {
        return commandLine(verb -> true);
    }

    /** The grammar of a command line with some of the commands. */
    static CommandLine commandLine(Predicate<Verb> described) {
        CommandSpec root = CommandSpec.create().name("homeostat");
        root.usageMessage()
                .description("Keeps this machine at its declared state.")
                .footer("", "homeostat COMMAND --help says more about a command.")
                .synopsisSubcommandLabel("COMMAND")
                .commandListHeading("%nCommands:%n")
                .optionListHeading("%nOptions, before or after the command:%n");
        describe(Syntax.root(), root);
        root.addOption(OptionSpec.builder("-V", Syntax.VERSION)
                .versionHelp(true)
                .type(boolean.class)
                .description("Print the version.")
                .build());
        for (Verb verb : Verb.values()) {
            if (!described.test(verb)) {
                continue;
            }
            CommandSpec spec = CommandSpec.create().name(verb.word());
            spec.usageMessage()
                    .description(verb.description())
                    .optionListHeading("%n")
                    .hidden(verb.hidden());
            describe(Syntax.of(verb), spec);
            root.addSubcommand(verb.word(), new CommandLine(spec));
        }
        return new CommandLine(root).setExpandAtFiles(false).setUsageHelpAutoWidth(false);
    }

    private static void describe(Syntax syntax, CommandSpec spec) {
        for (Option option : syntax.options()) {
            spec.addOption(described(option));
        }
        int index = 0;
        for (Parameter parameter : syntax.parameters()) {
            spec.addPositional(described(parameter, index++));
        }
        if (syntax.takesProgram()) {
            spec.addPositional(PositionalParamSpec.builder()
                    .paramLabel(PROGRAM)
                    .description("The program to run, and its arguments.")
                    .index(index + "..*")
                    .type(List.class)
                    .auxiliaryTypes(String.class)
                    .arity("0..*")
                    .build());
        }
    }

    private static OptionSpec described(Option option) {
        OptionSpec.Builder spec = OptionSpec.builder(option.names().toArray(String[]::new))
                .required(option.required())
                .description(option.description());
        if (option.isFlag()) {
            return spec.type(boolean.class)
                    .usageHelp(option.names().contains(Syntax.HELP))
                    .build();
        }
        spec.paramLabel(option.label()).arity(option.greedy() ? "1..*" : "1");
        if (option.many()) {
            return spec.type(List.class).auxiliaryTypes(option.type()).build();
        }
        if (option.isChoice()) {
            ITypeConverter<Object> converter = text -> option.value()
                    .apply(text)
                    .orElseThrow(() -> new TypeConversionException(
                            "'" + text + "' is none of " + String.join(", ", option.words())));
            spec.converters(converter).completionCandidates(option.words());
        }
        return spec.type(option.type()).build();
    }

    private static PositionalParamSpec described(Parameter parameter, int index) {
        PositionalParamSpec.Builder spec =
                PositionalParamSpec.builder().paramLabel(parameter.label()).description(parameter.description());
        return (parameter.many()
                        ? spec.index(index + "..*")
                                .type(List.class)
                                .auxiliaryTypes(String.class)
                                .arity("0..*")
                        : spec.index(Integer.toString(index))
                                .type(String.class)
                                .arity(parameter.required() ? "1" : "0..1")
                                .completionCandidates(parameter.candidates()))
                .build();
    }

    /** Describing a command takes as long as running many of them: all are described only for help and for errors. */
    static ParseResult parsed(String[] args) {
        ImmutableSet<String> words = ImmutableSet.copyOf(args);
        try {
            ParseResult parsed =
                    commandLine(verb -> words.contains(verb.word())).parseArgs(args);
            if (parsed.hasSubcommand()) {
                return parsed;
            }
        } catch (ParameterException e) {
            // All commands together say more: which one may have been meant.
        }
        return commandLine().parseArgs(args);
    }

    /** What picocli has read. */
    static Arguments arguments(ParseResult whole, ParseResult command) {
        return new Arguments(typed(whole), typed(command));
    }

    private static Typed typed(ParseResult parsed) {
        ImmutableMap.Builder<String, Object> options = ImmutableMap.builder();
        for (OptionSpec option : ImmutableSet.copyOf(parsed.matchedOptions())) {
            for (String name : option.names()) {
                options.put(name, option.<Object>getValue());
            }
        }
        ImmutableList<String> words = parsed.matchedPositionals().stream()
                .distinct()
                .sorted(Comparator.comparing(PositionalParamSpec::index))
                .<Object>map(ArgSpec::getValue)
                .flatMap(value -> value instanceof List<?> list ? list.stream() : Stream.of(value))
                .map(String.class::cast)
                .collect(ImmutableList.toImmutableList());
        int program = program(parsed);
        return new Typed(
                options.buildOrThrow(),
                words.subList(0, words.size() - program),
                words.subList(words.size() - program, words.size()));
    }

    /** How many words follow {@code --}, where that means something. */
    private static int program(ParseResult parsed) {
        boolean taken = parsed.commandSpec().positionalParameters().stream()
                .anyMatch(one -> one.paramLabel().equals(PROGRAM));
        int end = parsed.originalArgs().indexOf(END_OF_OPTIONS);
        return taken && end >= 0 ? parsed.originalArgs().size() - end - 1 : 0;
    }

    static String words(ParameterException e) {
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
}
