package io.homeostat.reconcile.cli;

import io.homeostat.reconcile.command.LogLevel;
import io.homeostat.reconcile.command.Verb;
import io.homeostat.reconcile.command.output.OutputFormat;
import io.homeostat.reconcile.command.plugin.VmEvent;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

/**
 * The grammar of the command line. Written out instead of annotated: reading annotations by reflection takes longer than many a
 * command does.
 */
final class Syntax {
    static final String FILES = "-f";
    static final String PRUNE = "--prune";
    static final String TIMEOUT = "--timeout";
    static final String REASON = "--reason";
    static final String DETAILED_EXIT_CODE = "--detailed-exitcode";
    static final String FOLLOW = "--follow";
    static final String WATCH = "--watch";
    static final String REQUEST = "--request";
    static final String CODE = "--code";
    static final String REVISION = "--revision";
    static final String YES = "--yes";
    static final String OUTPUT = "-o";
    static final String CONFIG = "--config";
    static final String STATE_DIR = "--state-dir";
    static final String RUN_DIR = "--run-dir";
    static final String LOG_LEVEL = "--log-level";
    static final String NO_COLOR = "--no-color";
    static final String HELP = "-h";
    static final String VERSION = "--version";

    private static final String ONE = "1";
    private static final String ONE_OR_MORE = "1..*";

    private Syntax() {}

    static CommandLine commandLine() {
        CommandSpec root = CommandSpec.create().name("homeostat");
        root.usageMessage()
                .description("Keeps this machine at its declared state.")
                .footer("", "homeostat COMMAND --help says more about a command.")
                .synopsisSubcommandLabel("COMMAND")
                .commandListHeading("%nCommands:%n")
                .optionListHeading("%nOptions, before or after the command:%n");
        addGlobalOptions(root);
        root.addOption(OptionSpec.builder("-V", VERSION)
                .versionHelp(true)
                .type(boolean.class)
                .description("Print the version.")
                .build());
        for (Verb verb : Verb.values()) {
            root.addSubcommand(verb.word(), new CommandLine(command(verb)));
        }
        return new CommandLine(root).setExpandAtFiles(false).setUsageHelpAutoWidth(false);
    }

    private static CommandSpec command(Verb verb) {
        CommandSpec spec = CommandSpec.create().name(verb.word());
        spec.usageMessage()
                .description(verb.description())
                .optionListHeading("%n")
                .hidden(verb.hidden());
        switch (verb) {
            case VALIDATE -> spec.addOption(files(true));
            case PLAN ->
                spec.addOption(files(false))
                        .addOption(prune())
                        .addOption(flag(DETAILED_EXIT_CODE, "Exit with 2 when there are changes."));
            case APPLY -> spec.addOption(files(true)).addOption(prune()).addOption(timeout());
            case DELETE -> spec.addPositional(workloads(ONE_OR_MORE)).addOption(timeout());
            case RUN, DOCTOR -> spec.addOption(config());
            case DIAGNOSTICS ->
                spec.addPositional(
                                word("FILE", "1", "A new file, such as diagnostics.tar.gz, or - for standard output."))
                        .addOption(config());
            case PAUSE -> spec.addPositional(workloads(ONE_OR_MORE)).addOption(reason(true));
            case RESUME -> spec.addPositional(workloads(ONE_OR_MORE)).addOption(reason(false));
            case STATUS ->
                spec.addPositional(workloads("0..1"))
                        .addOption(flag(WATCH, "Look again every two seconds, until interrupted."));
            case EVENTS -> spec.addOption(follow("Go on with what happens from now on, until interrupted."));
            case LOGS ->
                spec.addPositional(workloads(ONE))
                        .addOption(
                                follow(
                                        "Go on with what is written from now on, across rotation and restarts, until interrupted."));
            case STOP, START ->
                spec.addPositional(workloads(ONE_OR_MORE))
                        .addOption(reason(false))
                        .addOption(timeout());
            case RESET ->
                spec.addOption(flag(YES, "Do it; without this it is only said what would be removed."))
                        .addOption(timeout());
            case VERIFY ->
                spec.addPositional(workloads(ONE))
                        .addOption(OptionSpec.builder(REVISION)
                                .type(String.class)
                                .required(true)
                                .paramLabel("REVISION")
                                .description("Which one is to run.")
                                .build());
            case VM_EVENT -> spec.addPositional(word("EVENT", "1", "One of " + VmEvent.words() + "."));
            case WATCH ->
                spec.addPositional(workloads(ONE))
                        .addOption(text(REQUEST, "TEXT", "What to ask the plugin for; its health when left out."))
                        .addOption(OptionSpec.builder(CODE)
                                .type(Integer.class)
                                .paramLabel("NUMBER")
                                .description("The code to wait for; 0 when left out.")
                                .build())
                        .addOption(timeout());
            case EXPLAIN ->
                spec.addPositional(word("PATH", "0..1", "Such as Plugin.spec.limits; the kinds when left out."));
            case COMPLETION -> spec.addPositional(word("SHELL", "0..1", "bash, which is also the default."));
            case STATES, SCHEMA, VERSION, SELF_TRAIN -> {
                // Nothing beside the global options.
            }
        }
        addGlobalOptions(spec);
        return spec;
    }

    private static void addGlobalOptions(CommandSpec spec) {
        spec.addOption(OptionSpec.builder(OUTPUT, "--output")
                        .type(OutputFormat.class)
                        .converters(new Choice<>(OutputFormat.class))
                        .completionCandidates(new Choice<>(OutputFormat.class).words())
                        .paramLabel("text|json")
                        .description("How results are written; text is the default.")
                        .build())
                .addOption(OptionSpec.builder(STATE_DIR)
                        .type(String.class)
                        .paramLabel("DIR")
                        .description("Where state is kept.")
                        .build())
                .addOption(OptionSpec.builder(RUN_DIR)
                        .type(String.class)
                        .paramLabel("DIR")
                        .description("Where sockets are.")
                        .build())
                .addOption(OptionSpec.builder(LOG_LEVEL)
                        .type(LogLevel.class)
                        .converters(new Choice<>(LogLevel.class))
                        .completionCandidates(new Choice<>(LogLevel.class).words())
                        .paramLabel("LEVEL")
                        .description("error, warn (the default; for run what agent.yaml says), info, debug or trace.")
                        .build())
                .addOption(flag(NO_COLOR, "No colours, as with NO_COLOR in the environment."))
                .addOption(OptionSpec.builder(HELP, "--help")
                        .usageHelp(true)
                        .type(boolean.class)
                        .description("Print this help.")
                        .build());
    }

    private static OptionSpec files(boolean required) {
        return OptionSpec.builder(FILES, "--file")
                .type(List.class)
                .auxiliaryTypes(String.class)
                .arity(ONE_OR_MORE)
                .required(required)
                .paramLabel("PATH")
                .description("A file, a directory with .yaml and .yml files, or - for standard input.")
                .build();
    }

    private static OptionSpec config() {
        return OptionSpec.builder(CONFIG)
                .type(String.class)
                .paramLabel("FILE")
                .description("How the agent works; homeostat explain Agent tells what may stand in it.")
                .build();
    }

    private static OptionSpec prune() {
        return flag(PRUNE, "Also remove what an earlier apply of the same PATH declared and this one does not.");
    }

    private static OptionSpec timeout() {
        return OptionSpec.builder(TIMEOUT)
                .type(String.class)
                .paramLabel("DURATION")
                .description("How long to go on, such as 90s or 5m; 2m is the default.")
                .build();
    }

    private static OptionSpec follow(String description) {
        return OptionSpec.builder("-f", FOLLOW)
                .type(boolean.class)
                .description(description)
                .build();
    }

    private static OptionSpec reason(boolean required) {
        return OptionSpec.builder(REASON)
                .type(String.class)
                .required(required)
                .paramLabel("TEXT")
                .description("Why, for whoever looks at status or events.")
                .build();
    }

    private static OptionSpec text(String name, String label, String description) {
        return OptionSpec.builder(name)
                .type(String.class)
                .paramLabel(label)
                .description(description)
                .build();
    }

    private static OptionSpec flag(String name, String description) {
        return OptionSpec.builder(name)
                .type(boolean.class)
                .description(description)
                .build();
    }

    private static PositionalParamSpec workloads(String arity) {
        return PositionalParamSpec.builder()
                .index(arity.equals(ONE) ? "0" : "0..*")
                .type(List.class)
                .auxiliaryTypes(String.class)
                .arity(arity)
                .required(!arity.startsWith("0"))
                .paramLabel("KIND/NAME")
                .description("Such as plugin/ops-agent.")
                .build();
    }

    private static PositionalParamSpec word(String label, String arity, String description) {
        return PositionalParamSpec.builder()
                .index("0")
                .type(String.class)
                .arity(arity)
                .paramLabel(label)
                .description(description)
                .build();
    }
}
