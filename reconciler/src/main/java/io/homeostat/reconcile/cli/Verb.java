package io.homeostat.reconcile.cli;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.errorprone.annotations.Immutable;
import io.homeostat.desired.model.SignalNames;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.reconcile.agent.Daemon;
import io.homeostat.reconcile.agent.guest.GuestServer;
import io.homeostat.reconcile.agent.nomad.NomadDriver;
import io.homeostat.reconcile.command.ApplyCommand;
import io.homeostat.reconcile.command.Command;
import io.homeostat.reconcile.command.DeleteCommand;
import io.homeostat.reconcile.command.DescribeCommand;
import io.homeostat.reconcile.command.EventsCommand;
import io.homeostat.reconcile.command.ExecCommand;
import io.homeostat.reconcile.command.FrontEndCommand;
import io.homeostat.reconcile.command.GetCommand;
import io.homeostat.reconcile.command.HistoryCommand;
import io.homeostat.reconcile.command.HoldCommand;
import io.homeostat.reconcile.command.HoldCommand.Hold;
import io.homeostat.reconcile.command.InspectCommand;
import io.homeostat.reconcile.command.LogsCommand;
import io.homeostat.reconcile.command.PlanCommand;
import io.homeostat.reconcile.command.RollbackCommand;
import io.homeostat.reconcile.command.SignalCommand;
import io.homeostat.reconcile.command.StatusCommand;
import io.homeostat.reconcile.command.VerifyCommand;
import io.homeostat.reconcile.command.Workspace;
import io.homeostat.reconcile.command.environment.AgentStarted;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.fleet.FleetStatusCommand;
import io.homeostat.reconcile.command.plugin.ResetCommand;
import io.homeostat.reconcile.command.plugin.StatesCommand;
import io.homeostat.reconcile.command.plugin.VmEventCommand;
import io.homeostat.reconcile.command.plugin.WatchCommand;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * All commands, in the order of the help, one row each: its syntax, the command to run as typed or as requested of an agent, its
 * description.
 */
public enum Verb {
    INIT(
            syntax -> syntax.word(
                            "WHAT", false, "What there is: " + FirstDocument.FORMS_IN_WORDS + ".", FirstDocument.FORMS)
                    .word("FILE", false, "Where it is; of an archive also a URL.")
                    .text(Syntax.NAME, "NAME", "Of the workload; by the file's when left out.", false)
                    .texts(Syntax.ARGUMENT, "TEXT", "For the program; may be given again. With a dash: --argument=-v")
                    .text(Syntax.ENTRY_POINT, "PATH", "Which file of an archive to execute; the only one.", false)
                    .text(Syntax.REVISION, "REVISION", "Of an archive; by its SHA-256 when left out.", false)
                    .flag(Syntax.AS_PLUGIN, "What is in the archive serves the plugin protocol.")
                    .text(Syntax.FROM_PROGRAM, "NAME", "Only this one of supervisor's or pm2's.", false)
                    .text(Syntax.FROM_TASK, "NAME", "Only this one of a Nomad job.", false)
                    .text(Syntax.ENVIRONMENT, "NAME", "Which environment of pm2's holds, such as production.", false)
                    .text(Syntax.TO, "FILE", "A new file; standard output when left out.", false)
                    .flag(Syntax.FORCE, "Replace that file."),
            typed -> new FirstDocument(typed).run(),
            "Write a first document for what there is: " + FirstDocument.FORMS_IN_WORDS + ".",
            "What can't be taken over is told on standard error, and stands in the document as a comment.",
            "Without WHAT it asks, at a terminal.",
            "Exit status: 0 written, 1 not."),
    BUNDLE(
            syntax -> syntax.word("DIR", true, "What is to be in the archive.")
                    .text(Syntax.ENTRY_POINT, "PATH", "Which file in it to execute, such as bin/web.", true)
                    .text(Syntax.NAME, "NAME", "Of the workload; that of DIR when left out.", false)
                    .text(Syntax.REVISION, "REVISION", "By the contents when left out.", false)
                    .text(
                            Syntax.URL_PREFIX,
                            "URL",
                            "Where the archive will be; beside the document when left out.",
                            false)
                    .text(Syntax.KEY, "FILE", "Sign with this private key (Ed25519, in PEM).", false)
                    .flag(Syntax.AS_PLUGIN, "It serves the plugin protocol.")
                    .text(Syntax.TO, "DIR", "Where both are written; here when left out.", false)
                    .flag(Syntax.FORCE, "Replace what is there under these names."),
            typed -> new DirectoryBundle(typed).run(),
            "Make NAME-REVISION.tar.gz of a directory, and NAME.yaml that declares it.",
            "The same contents make the same revision.",
            "Exit status: 0 written, 1 not."),
    VALIDATE(
            syntax -> syntax.files(false).config(),
            LocalCommands::validate,
            "Check files; touch nothing.",
            "With --config FILE: the configuration of an agent, too, and whether it takes the signatures in these files.",
            "Exit status: 0 valid, 1 not."),
    PUBLISH(
            syntax -> syntax.files(true)
                    .text(
                            Syntax.TO,
                            "SOURCE",
                            "git, bucket, etcd or https, as agent.yaml has them; a gs or s3 URL; an https URL that takes PUT; or file:///PATH.",
                            true)
                    .text(Syntax.KEY, "FILE", "Sign with this private key (Ed25519, in PEM).", false)
                    .text(Syntax.FLEET, "NAME", "For this fleet; that of agent.yaml when left out.", false)
                    .flag(Syntax.DRY_RUN, "Only check, and tell what would be done.")
                    .flag(
                            Syntax.FORCE,
                            "Also what changes a revision or a placement of a rollout that was published before: machines may change at once. Also after a sequence that is far in the future.")
                    .config(),
            typed -> new SetPublication(typed).run(),
            "Publish files as a set for many machines, which go by it as a whole.",
            "What validate refuses is not published; nor is anything in place of what somebody else has published meanwhile.",
            "Exit status: 0 published, or there already, 1 not."),
    FLEET(
            syntax -> syntax.word("WHAT", true, "One of " + FleetOperation.IN_WORDS + ".", FleetOperation.WORDS)
                    .word("NAME", false, "A rollout; with machine and forget the id of a machine.")
                    .files(false)
                    .flag(Syntax.DETAILED_EXIT_CODE, "With plan: exit with 2 when there are changes.")
                    .text(Syntax.MACHINE, "ID", "With init: the user of this machine, and no other.", false)
                    .text(Syntax.TO, "DIR", "With init: where passwords are kept, a file each.", false)
                    .flag(
                            Syntax.FORCE,
                            "With init: also users that are there; with forget: also a machine that is heard of; with plan: as publish --force would.")
                    .config(),
            typed -> new FleetOperation(typed).run(),
            "Show how machines that go by etcd and their rollouts fare, stop rollouts, or be a controller of them.",
            "status, machine: also of machines that report into the bucket of agent.yaml, where it has no etcd.",
            "controller: open waves and halt them, until SIGTERM; at SIGHUP it reads agent.yaml again. Of any number of them one leads. It logs each decision, in the way that agent.yaml has for the agent.",
            "pause, resume, abort, rollback: an order, which the controller that leads follows.",
            "plan -f PATH: what would change on which machines were this published, and in which waves.",
            "init: users and roles of etcd, each of which may do what it has to; etcd asks for passwords once its authentication is enabled.",
            "forget: a machine that is gone for good, so that rollouts do not wait for it.",
            "Exit status: 0 done, of status everything could be read, there is a set or a machine, all machines are heard of and well, nothing was stopped, and a controller leads while there are rollouts to go on with, 1 not, or publish would refuse what is planned; with --detailed-exitcode 2 changes."),
    PLAN(
            syntax -> syntax.files(false)
                    .prune()
                    .config()
                    .flag(Syntax.DETAILED_EXIT_CODE, "Exit with 2 when there are changes."),
            typed -> new PlanCommand(
                    typed.documents(""),
                    typed.arguments().flag(Syntax.DETAILED_EXIT_CODE),
                    typed.arguments().config().isPresent()),
            asked -> PlanCommand.of(asked.getPlan()),
            "Show what apply would change, and why; touch nothing.",
            "Without -f: against the stored desired state, and, where no agent runs, what run would read at its start.",
            "With --config FILE: of an agent that run would start with it; one that runs goes by its own.",
            "Exit status: 0, 1 something could not be looked at; with --detailed-exitcode 0 no changes, 1 error, 2 changes."),
    DIFF(
            syntax -> syntax.files(true).prune(),
            typed -> new PlanCommand(typed.documents(""), true, false),
            asked -> PlanCommand.of(asked.getPlan()),
            "Show what plan -f shows, for those who are used to kubectl diff.",
            "Exit status: 0 no difference, 1 differences, 2 an error."),
    APPLY(
            syntax -> syntax.files(true).prune().timeout(),
            typed -> {
                Duration timeout = typed.arguments().timeout();
                return new ApplyCommand(typed.documents(ApplyCommand.CONSEQUENCE_OF_ERRORS), timeout);
            },
            asked -> ApplyCommand.of(asked.getApply()),
            "Store files as desired state and bring the machine to it.",
            "Exit status: 0 what is given, and what it depends on, is at its desired state, 1 not."),
    DELETE(
            syntax -> syntax.selection().timeout(),
            typed -> new DeleteCommand(
                    typed.arguments().selection(), typed.arguments().timeout()),
            asked -> DeleteCommand.of(asked.getDelete()),
            "Take workloads out of the desired state and remove them from the machine.",
            "Exit status: 0 removed, or not applied any more and declared elsewhere, 1 not."),
    RUN(
            syntax -> syntax.config(),
            typed -> new Daemon(
                            typed.environment(),
                            typed.console(),
                            typed.arguments().global(),
                            typed.configFile(),
                            Verb::asked)
                    .run(),
            "Enforce what is declared, continuously; workloads outlive it.",
            "SIGTERM ends it, SIGHUP has it read its configuration again.",
            "Exit status: 0 told to end, 1 could not run."),
    NOMAD_DRIVER(
            syntax -> {},
            typed -> new NomadDriver(
                            typed.environment(),
                            typed.console(),
                            typed.arguments().global())
                    .run(),
            "Be a task driver of a Nomad client, which starts it; its tasks are declared here and enforced by an agent.",
            "Exit status: 1 when nobody starts it as a plugin."),
    GUEST(
            syntax -> syntax.text(
                            Syntax.LISTEN,
                            "ENDPOINT",
                            "Where: vsock://-1:1024, which is the default, or unix:///PATH.",
                            false)
                    .text(Syntax.RUNTIME, "PROGRAM", "What runs containers; runc is the default.", false)
                    .config(),
            typed -> new GuestServer(
                            typed.environment(),
                            typed.arguments().global(),
                            new GuestServer.Settings(
                                    typed.arguments().text(Syntax.LISTEN),
                                    typed.arguments().text(Syntax.RUNTIME),
                                    typed.arguments().config()))
                    .run(),
            "Be the agent of a virtual machine, for whoever runs Kata containers in it; they are enforced by an agent.",
            "Containers outlive it, and the next one takes them up; with its sandbox it ends, too.",
            "Exit status: 0 told to end, or its sandbox was destroyed, 1 could not run."),
    PAUSE(
            syntax -> syntax.selection().reason(true),
            typed -> typed.hold(Hold.PAUSE),
            asked -> HoldCommand.of(Hold.PAUSE, asked.getPause()),
            "Leave workloads alone, whatever becomes of them, until they are resumed.",
            "Exit status: 0 done, 1 not."),
    RESUME(
            syntax -> syntax.selection().reason(false),
            typed -> typed.hold(Hold.RESUME),
            asked -> HoldCommand.of(Hold.RESUME, asked.getResume()),
            "Bring paused workloads to their desired state again.",
            "Exit status: 0 done, 1 not."),
    STOP(
            syntax -> syntax.selection().reason(false).timeout(),
            typed -> typed.hold(Hold.STOP),
            asked -> HoldCommand.of(Hold.STOP, asked.getStop()),
            "Stop workloads, and leave them stopped until they are started or resumed.",
            "Nobody starts them meanwhile, not after a reboot either.",
            "Exit status: 0 none of them runs, 1 not."),
    START(
            syntax -> syntax.selection().reason(false).timeout(),
            typed -> typed.hold(Hold.START),
            asked -> HoldCommand.of(Hold.START, asked.getStart()),
            "Start workloads that were stopped or paused, and try at once what had failed.",
            "Exit status: 0 done, 1 not."),
    RESTART(
            syntax -> syntax.selection().timeout(),
            typed -> typed.hold(Hold.RESTART),
            asked -> HoldCommand.of(Hold.RESTART, asked.getRestart()),
            "Stop workloads and start them again, as they are declared.",
            "Those that do not run, because they were stopped, paused or given up, are started.",
            "Exit status: 0 they run and are well, 1 not."),
    EXEC(
            syntax -> syntax.workload()
                    .program()
                    .flag("-i", Syntax.INTERACTIVE, "Hand on standard input.")
                    .flag("-t", Syntax.TERMINAL, "Give it a terminal, as large as this one."),
            Invocation::exec,
            ExecCommand::of,
            "Run a command in a task, as its driver does that: homeostat exec -it task/web -- sh",
            "Standard output and standard error are the command's, with -t both on one terminal.",
            "SIGINT and SIGTERM end it, too; with -it Ctrl-C is the command's.",
            "Exit status: the command's, 128 and its number for a signal; 1 also when it could not be run."),
    SIGNAL(
            syntax -> syntax.workload()
                    .word("SIGNAL", true, "Its name or number, such as HUP, SIGHUP or 1.", SignalNames.all()),
            typed -> SignalCommand.of(
                    typed.arguments().workload(),
                    typed.arguments().words().getLast(),
                    SignalCommand.asker(typed.environment())),
            SignalCommand::of,
            "Send a signal to the process of a workload, or to a task by its driver.",
            "An event tells who wanted it; what is declared stays as it is, and is enforced.",
            "Exit status: 0 sent, 1 not."),
    TRIGGER(
            syntax -> syntax.selection().timeout(),
            typed -> typed.hold(Hold.TRIGGER),
            asked -> HoldCommand.of(Hold.TRIGGER, asked.getTrigger()),
            "Run one-shots now, whatever their triggers say, and wait until they are done.",
            "Exit status: 0 they have completed, 1 not."),
    ROLLBACK(
            syntax -> syntax.selection()
                    .text(
                            Syntax.TO,
                            "REVISION",
                            "A revision in its history, or its number there; the one that worked before when left out.",
                            false)
                    .timeout(),
            typed -> new RollbackCommand(
                    typed.arguments().selection(),
                    typed.arguments().to(),
                    typed.arguments().timeout()),
            asked -> RollbackCommand.of(asked.getRollback()),
            "Go back to a revision that worked, whoever has declared another one.",
            "It stays so until another one is declared, or homeostat apply or resume takes that back.",
            "A pause or a stop by request ends with it.",
            "A word that is a revision and the number of another one is refused; write",
            "--to number:3 then, with the NUMBER of history.",
            "Exit status: 0 they run and are well, 1 not."),
    RESET(
            syntax -> syntax.flag(Syntax.YES, "Do it; without this it is only said what would be removed.")
                    .timeout(),
            typed -> new ResetCommand(
                    typed.arguments().flag(Syntax.YES), typed.arguments().timeout()),
            asked -> ResetCommand.of(asked.getReset()),
            "Remove all plugins that were installed dynamically, with their state.",
            "What packages and files declare stays, and so do protected plugins.",
            "Exit status: 0 done, 1 not, or --yes is missing."),
    STATUS(
            syntax -> syntax.selection().flag(Syntax.WATCH, "Look again every two seconds, until interrupted."),
            typed -> new StatusCommand(
                    typed.arguments().workloadsOrAll(),
                    typed.arguments().labels(),
                    typed.arguments().flag(Syntax.WATCH)),
            asked -> StatusCommand.of(asked.getStatus()),
            "Show what is wanted and what is there, observed now.",
            "Exit status: 0 all converged and healthy, 1 not or no such workload, 3 nothing was ever declared here."),
    GET(
            syntax -> syntax.selection().yaml(),
            typed -> new GetCommand(typed.arguments().selection()),
            asked -> GetCommand.of(asked.getGet()),
            "Print what is declared of workloads, with every default, and by whom.",
            "The YAML, and of the JSON each member document, can be applied again, once what is masked is written in.",
            "Exit status: 0, 1 one that is named is not declared."),
    DESCRIBE(
            syntax -> syntax.selection(),
            typed -> new DescribeCommand(typed.arguments().selection()),
            asked -> DescribeCommand.of(asked.getDescribe()),
            "Show all about workloads: status, plan, instances, declaration, last events, end of the log.",
            "Exit status: 0, 3 one is neither declared nor on this machine, 1 nothing has these labels."),
    HISTORY(
            syntax -> syntax.selection(),
            typed -> new HistoryCommand(typed.arguments().selection()),
            asked -> HistoryCommand.of(asked.getHistory()),
            "Show which revisions of workloads were tried, when, and what became of them.",
            "The last ten are remembered, secrets are not shown.",
            "Exit status: 0, 3 nothing was ever done for one that is named, 1 nothing has these labels."),
    EVENTS(
            syntax -> syntax.about()
                    .labels()
                    .flag(Syntax.ALL, "All that happened, which is also the default.")
                    .since()
                    .number(Syntax.LIMIT, "Only so many, the newest.")
                    .follow("Go on with what happens from now on, until interrupted."),
            typed -> new EventsCommand(
                    typed.arguments().about(),
                    typed.arguments().since(typed.environment().clock()),
                    typed.arguments().count(Syntax.LIMIT),
                    typed.arguments().flag(Syntax.FOLLOW)),
            asked -> EventsCommand.of(asked.getEvents()),
            "Show what happened, newest last.",
            "Exit status: 0, 1 one that is named is not declared, and no event of it is kept, or nothing has these labels."),
    LOGS(
            syntax -> syntax.selection()
                    .since()
                    .number(Syntax.TAIL, "Only so many lines of each, the last.")
                    .flag(Syntax.TIMESTAMPS, "Begin each line with the time by which it had been written.")
                    .follow("Go on with what is written from now on, across rotation and restarts, until interrupted."),
            typed -> new LogsCommand(
                    typed.arguments().selection(),
                    typed.arguments().since(typed.environment().clock()),
                    typed.arguments().count(Syntax.TAIL),
                    typed.arguments().flag(Syntax.TIMESTAMPS),
                    typed.arguments().flag(Syntax.FOLLOW)),
            asked -> LogsCommand.of(asked.getLogs()),
            "Show what workloads have printed, as it is; of several, each line after its workload's name, in order of time.",
            "With -o json an object for each line. The agent notes every 2 s how far logs have grown, so a line's time is up to",
            "2 s late, older ones more; what no agent has noted counts as written when the log was last changed. --since",
            "leaves out only what was written before; with -f everything that comes is shown."),
    VM_EVENT(
            syntax -> syntax.word(
                    "EVENT",
                    true,
                    "One of " + VmEventCommand.Event.words() + ".",
                    Splitter.on(", ").splitToList(VmEventCommand.Event.words())),
            typed -> VmEventCommand.of(typed.arguments().word().orElse("")),
            asked -> VmEventCommand.of(asked.getVmEvent().getEvent()),
            "Tell every plugin that runs of something that happens to the machine.",
            "Each has 5 s to be done with what is being done to it, and 5 s to answer; what is declared stays as it is.",
            "Exit status: 0 all that run have taken it (501, it does not run, is no failure), 1 not."),
    WATCH(
            syntax -> syntax.plugins()
                    .text(Syntax.REQUEST, "TEXT", "What to ask the plugins for; their health when left out.", false)
                    .number(Syntax.CODE, "The code to wait for; 0 when left out.")
                    .timeout(),
            typed -> new WatchCommand(
                    typed.arguments().selection(),
                    typed.arguments().request().orElse(null),
                    typed.arguments().code(),
                    typed.arguments().timeout()),
            asked -> WatchCommand.of(asked.getWatch()),
            "Ask plugins for their status until each has answered with the code that is waited for.",
            "One that does not run is waited for.",
            "Exit status: 0 they did, 1 not in time."),
    VERIFY(
            syntax -> syntax.selection().text(Syntax.REVISION, "REVISION", "Which one is to run.", true),
            typed -> new VerifyCommand(
                    typed.arguments().selection(), typed.arguments().revision()),
            asked -> VerifyCommand.of(asked.getVerify()),
            "Say whether workloads run at a revision, and are well.",
            "Exit status: 0 they do, 1 not, and why."),
    STATES(
            syntax -> {},
            typed -> new StatesCommand(),
            asked -> new StatesCommand(),
            "Show how plugins are in the words of the control plane; JSON is its CurrentPluginStates.",
            "Exit status: 0."),
    INSPECT(
            syntax -> {},
            typed -> new InspectCommand(),
            asked -> new InspectCommand(),
            "Show what each thread of the agent is doing."),
    UI(
            syntax -> syntax.flag(
                    Syntax.OPEN, "Have the desktop's browser open it, by xdg-open, and print it only if that fails."),
            typed -> new PageAddress(typed).tell(),
            "Print the address of the page that the agent serves, with its token.",
            "Whoever has it sees what the commands show, and with ui.operations pauses, resumes, restarts and rolls back.",
            "Exit status: 0, 1 no agent runs, or it serves no page."),
    DOCTOR(
            syntax -> syntax.config(),
            typed -> new DoctorReport(typed).run(),
            "Say what this host can and can't do, and what to do about it; touch nothing.",
            "Exit status: 0 nothing that is needed is missing, 1 something is."),
    DIAGNOSTICS(
            syntax -> syntax.word("FILE", true, "A new file, such as diagnostics.tar.gz, or - for standard output.")
                    .config(),
            typed -> new DiagnosticsFile(typed).run(),
            "Collect what is needed to look for a fault from afar: state, events, ends of logs; secrets are masked.",
            "Exit status: 0 written, 1 not."),
    EXPLAIN(
            syntax -> syntax.word(
                    Syntax.FIELD, false, "Such as Plugin.spec.limits, or driver/NAME; the kinds when left out."),
            LocalCommands::explain,
            "Explain a field of a document, such as Plugin.spec.limits.",
            "Of driver/NAME: which keys that driver takes, itself and for its tasks, as it says while it runs.",
            "Exit status: 0, 1 no such field, 3 no such driver runs here."),
    SCHEMA(
            syntax -> syntax.word(
                    "WHAT",
                    false,
                    "document, which is also the default, or agent (agent.yaml).",
                    List.of("document", "agent")),
            LocalCommands::schema,
            "Print the JSON Schema (draft 2020-12) of documents, or of agent.yaml.",
            "For an editor with the YAML language server, in the first line of a file:",
            "# yaml-language-server: $schema=FILE"),
    COMPLETION(
            syntax -> syntax.word("SHELL", false, "bash, which is also the default, zsh or fish.", Completion.SHELLS),
            typed -> typed.print(Completion.script(typed.arguments().word().orElse("bash"))),
            "Print a completion script for bash, zsh or fish.",
            "To load it now:  source <(homeostat completion bash)   (zsh the same)   homeostat completion fish | source",
            "Every time:      homeostat completion bash > ~/.local/share/bash-completion/completions/homeostat",
            "                 homeostat completion zsh > DIRECTORY_IN_FPATH/_homeostat",
            "                 homeostat completion fish > ~/.config/fish/completions/homeostat.fish"),
    COMPLETE(
            Syntax::words,
            typed -> new Completion(typed.environment(), typed.console().out())
                    .complete(typed.arguments().words()),
            "Say what may stand at the end of a command line; for completion scripts."),
    VERSION(syntax -> {}, LocalCommands::version, "Print the version."),
    SELF_TRAIN(
            syntax -> {},
            typed -> new SelfTraining(typed.environment()).run(),
            "Exercise the program so that the JVM can prepare a fast start."),
    SELF_DESCRIBE(
            syntax -> syntax.word("DIR", true, "Where the pages are put."),
            LocalCommands::manual,
            "Write the manual pages, for packages.");

    /** Says what may be typed. */
    @Immutable
    @FunctionalInterface
    private interface Grammar {
        void declare(Syntax syntax);
    }

    /** What is done here, whether an agent runs or not. */
    @Immutable
    @FunctionalInterface
    private interface Local {
        int run(Invocation typed) throws InterruptedException;
    }

    /** Makes the command on a state directory that was typed. */
    @Immutable
    @FunctionalInterface
    private interface Typed {
        Command command(Invocation typed);
    }

    /** Makes the command that an agent was asked for. */
    @Immutable
    @FunctionalInterface
    private interface Asked {
        Command command(CommandRequest request);
    }

    private final Grammar grammar;
    private final Local local;
    private final Typed typed;
    private final Asked asked;
    private final ImmutableList<String> description;

    /** A command on a state directory, for which an agent can be asked. */
    Verb(Grammar grammar, Typed typed, Asked asked, String... description) {
        this.grammar = grammar;
        this.local = this::runOnStateDirectory;
        this.typed = typed;
        this.asked = asked;
        this.description = ImmutableList.copyOf(description);
    }

    Verb(Grammar grammar, Local local, String... description) {
        this.grammar = grammar;
        this.local = local;
        this.typed = invocation -> {
            throw new IllegalArgumentException("this is done without a state directory");
        };
        this.asked = request -> {
            throw new IllegalArgumentException("this is not done by agents");
        };
        this.description = ImmutableList.copyOf(description);
    }

    /** As typed. */
    String word() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** The first line stands in the list of commands. */
    String[] description() {
        return description.toArray(String[]::new);
    }

    /** What the process ends with when that is how the command ended: of a diff other programs expect what diff(1) does. */
    int exitStatus(int status) {
        if (this != DIFF) {
            return status;
        }
        return switch (status) {
            case ExitStatus.CHANGES -> ExitStatus.DIFFERENT;
            case ExitStatus.FAILED -> ExitStatus.DIFF_FAILED;
            default -> status;
        };
    }

    /** Not meant for people. */
    boolean hidden() {
        return this == SELF_TRAIN || this == SELF_DESCRIBE || this == INSPECT || this == COMPLETE;
    }

    /** What it does can't be undone. */
    boolean destroys() {
        return this == DELETE || this == RESET;
    }

    static Optional<Verb> of(String word) {
        return Arrays.stream(values()).filter(verb -> verb.word().equals(word)).findFirst();
    }

    void declare(Syntax command) {
        grammar.declare(command);
    }

    /** Does what was typed. Only the class of that command is loaded. */
    int run(Invocation invocation) throws InterruptedException {
        return local.run(invocation);
    }

    /** By the agent when one runs on the state directory; then only what speaks to it has to be loaded, else only what does it. */
    private int runOnStateDirectory(Invocation invocation) throws InterruptedException {
        if (invocation.arguments().config().isPresent()) {
            // Whoever names a file wants that one to be read, also where an agent could do without.
            invocation.configFile().read();
        }
        Workspace workspace = invocation.workspace();
        Command command = typed(invocation);
        try (OverwriteGuard _ = new OverwriteGuard(workspace, this::exitStatus)) {
            try {
                if (Files.exists(workspace.layout().agentFile())) {
                    return new AgentSession(workspace).run(command);
                }
                if (Files.exists(workspace.layout().agentSocket())) {
                    OtherAgent.tell(workspace);
                }
                return workspace.run(command);
            } catch (AgentStarted e) {
                return askTheNewOne(workspace, command);
            }
        }
    }

    private static int askTheNewOne(Workspace workspace, Command command) throws InterruptedException {
        try {
            return new AgentSession(workspace).run(command);
        } catch (AgentStarted e) {
            // It has ended meanwhile, and another one has started.
            throw new CommandFailure("agents come and go on this state directory; run it again", e);
        }
    }

    /** The command on a state directory that was typed. */
    Command typed(Invocation invocation) {
        return typed.command(invocation);
    }

    /**
     * The command that a request is for: rows are named like the fields of the request.
     *
     * @throws UsageException when the request makes no sense
     */
    static Command asked(CommandRequest request) {
        return switch (request.getCommandCase()) {
            // Typed it is a program of its own, which asks for this.
            case NOMAD_DRIVER -> FrontEndCommand.of(request.getNomadDriver());
            // Typed it asks no agent.
            case FLEET_STATUS -> new FleetStatusCommand();
            default -> valueOf(request.getCommandCase().name()).asked.command(request);
        };
    }
}
