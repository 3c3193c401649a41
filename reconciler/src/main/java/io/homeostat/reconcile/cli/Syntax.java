package io.homeostat.reconcile.cli;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.reconcile.command.environment.GlobalOptions.OutputFormat;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.TypeConversionException;

/** The options and parameters of one command, built in code: reading annotations by reflection takes longer than many a command. */
final class Syntax {
    /** What stands for a workload in help; completion goes by labels, too: PATH, FILE and DIR are what they say. */
    static final String WORKLOAD = "KIND/NAME";

    /** The same of a plugin. */
    static final String PLUGIN = "plugin/NAME";

    static final String FILES = "-f";
    static final String PRUNE = "--prune";
    static final String ALLOW_EMPTY = "--allow-empty";
    static final String TIMEOUT = "--timeout";
    static final String REASON = "--reason";
    static final String DETAILED_EXIT_CODE = "--detailed-exitcode";
    static final String FOLLOW = "--follow";
    static final String FOR = "--for";
    static final String SINCE = "--since";
    static final String LIMIT = "--limit";
    static final String TAIL = "--tail";
    static final String TIMESTAMPS = "--timestamps";
    static final String TO = "--to";
    static final String WATCH = "--watch";
    static final String REQUEST = "--request";
    static final String CODE = "--code";
    static final String REVISION = "--revision";
    static final String YES = "--yes";
    static final String LABELS = "-l";
    static final String ALL = "--all";
    static final String OUTPUT = "-o";
    static final String CONFIG = "--config";
    static final String STATE_DIR = "--state-dir";
    static final String RUN_DIR = "--run-dir";
    static final String LOG_LEVEL = "--log-level";
    static final String NO_COLOR = "--no-color";
    static final String HELP = "-h";
    static final String VERSION = "--version";

    private final CommandSpec spec;
    private boolean isYaml;

    private Syntax(CommandSpec spec) {
        this.spec = spec;
    }

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
        new Syntax(root).global();
        root.addOption(OptionSpec.builder("-V", VERSION)
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
            Syntax syntax = new Syntax(spec);
            verb.declare(syntax);
            syntax.global();
            root.addSubcommand(verb.word(), new CommandLine(spec));
        }
        return new CommandLine(root).setExpandAtFiles(false).setUsageHelpAutoWidth(false);
    }

    Syntax files(boolean required) {
        return option(OptionSpec.builder(FILES, "--file")
                .type(List.class)
                .auxiliaryTypes(String.class)
                .arity("1..*")
                .required(required)
                .paramLabel("PATH")
                .description("A file, a directory with .yaml and .yml files, or - for standard input."));
    }

    Syntax about() {
        return option(OptionSpec.builder(FOR)
                .type(List.class)
                .auxiliaryTypes(String.class)
                .paramLabel(WORKLOAD)
                .description("Only what is about this workload; may be given again."));
    }

    Syntax since() {
        return text(
                SINCE,
                "TIME",
                "Only what happened since then: 15m, 2h30m, or a time such as 2026-11-20T12:00:00Z.",
                false);
    }

    Syntax prune() {
        return flag(PRUNE, "Also remove what an earlier apply of the same PATH declared and this one does not.")
                .flag(ALLOW_EMPTY, "With --prune: also where there is no document, so that all of it is removed.");
    }

    /** Whose text is YAML, for which may be asked by that name, too. */
    Syntax yaml() {
        isYaml = true;
        return this;
    }

    Syntax timeout() {
        return text(TIMEOUT, "DURATION", "How long to go on, such as 90s or 5m; 2m is the default.", false);
    }

    Syntax reason(boolean required) {
        return text(REASON, "TEXT", "Why, for whoever looks at status or events.", required);
    }

    Syntax config() {
        return text(CONFIG, "FILE", "How the agent works; homeostat explain Agent tells what may stand in it.", false);
    }

    Syntax follow(String description) {
        return option(OptionSpec.builder("-f", FOLLOW).type(boolean.class).description(description));
    }

    Syntax flag(String name, String description) {
        return option(OptionSpec.builder(name).type(boolean.class).description(description));
    }

    Syntax text(String name, String label, String description, boolean required) {
        return option(OptionSpec.builder(name)
                .type(String.class)
                .required(required)
                .paramLabel(label)
                .description(description));
    }

    Syntax number(String name, String description) {
        return option(OptionSpec.builder(name)
                .type(Integer.class)
                .paramLabel("NUMBER")
                .description(description));
    }

    /** One or more workloads, or a choice of them. */
    Syntax selection() {
        return selection(WORKLOAD);
    }

    /** One or more plugins, or a choice of them. */
    Syntax plugins() {
        return selection(PLUGIN);
    }

    private Syntax selection(String label) {
        spec.addPositional(PositionalParamSpec.builder()
                .index("0..*")
                .type(List.class)
                .auxiliaryTypes(String.class)
                .arity("0..*")
                .paramLabel(label)
                .description("Such as plugin/ops-agent.")
                .build());
        return labels().flag(ALL, "All workloads that are declared.");
    }

    Syntax labels() {
        return text(LABELS, "LABEL=VALUE", "Those with this label, or with all of several: team=sre,tier=web.", false);
    }

    Syntax word(String label, boolean required, String description) {
        return word(label, required, description, null);
    }

    /** @param candidates what it may be, for completion; null when it is not one of a few words */
    Syntax word(String label, boolean required, String description, @Nullable Iterable<String> candidates) {
        spec.addPositional(PositionalParamSpec.builder()
                .index("0")
                .type(String.class)
                .arity(required ? "1" : "0..1")
                .paramLabel(label)
                .completionCandidates(candidates)
                .description(description)
                .build());
        return this;
    }

    /** Any words, of which {@code --} has to stand before those that begin with a dash. */
    Syntax words() {
        spec.addPositional(PositionalParamSpec.builder()
                .index("0..*")
                .type(List.class)
                .auxiliaryTypes(String.class)
                .arity("0..*")
                .paramLabel("WORD")
                .build());
        return this;
    }

    private Syntax global() {
        return choice(
                        OUTPUT,
                        "--output",
                        OutputFormat.class,
                        isYaml ? ImmutableList.of("yaml", "json") : words(OutputFormat.class),
                        isYaml ? "yaml|json" : "text|json",
                        "How results are written; " + (isYaml ? "yaml" : "text") + " is the default.")
                .text(STATE_DIR, "DIR", "Where state is kept; --run-dir stays where it is.", false)
                .text(RUN_DIR, "DIR", "Where sockets are.", false)
                .choice(
                        LOG_LEVEL,
                        LOG_LEVEL,
                        AgentConfig.Log.Level.class,
                        words(AgentConfig.Log.Level.class),
                        "LEVEL",
                        "error, warn (the default; for run what agent.yaml says), info, debug or trace.")
                .flag(NO_COLOR, "No colours, as with NO_COLOR in the environment.")
                .option(OptionSpec.builder(HELP, "--help")
                        .usageHelp(true)
                        .type(boolean.class)
                        .description("Print this help."));
    }

    private static <E extends Enum<E>> ImmutableList<String> words(Class<E> type) {
        return Arrays.stream(type.getEnumConstants())
                .map(value -> value.name().toLowerCase(Locale.ROOT))
                .collect(ImmutableList.toImmutableList());
    }

    /**
     * One of a few words, in upper or lower case.
     *
     * @param words for the constants, in their order
     */
    private <E extends Enum<E>> Syntax choice(
            String name,
            String longName,
            Class<E> type,
            ImmutableList<String> words,
            String label,
            String description) {
        ITypeConverter<E> converter = text -> {
            String word = text.toLowerCase(Locale.ROOT);
            int index = Math.max(words.indexOf(word), words(type).indexOf(word));
            if (index < 0) {
                throw new TypeConversionException("'" + text + "' is none of " + String.join(", ", words));
            }
            return type.getEnumConstants()[index];
        };
        return option(OptionSpec.builder(ImmutableSet.of(name, longName).toArray(String[]::new))
                .type(type)
                .converters(converter)
                .completionCandidates(words)
                .paramLabel(label)
                .description(description));
    }

    private Syntax option(OptionSpec.Builder option) {
        spec.addOption(option.build());
        return this;
    }
}
