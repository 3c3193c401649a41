package io.homeostat.actuate.launch;

import com.google.common.collect.Comparators;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Interruption;
import io.homeostat.actuate.SecureDirectories;
import io.homeostat.actuate.launch.ProcessProtocol.Preparation;
import io.homeostat.actuate.limits.LimitEnforcer.CgroupPlan;
import io.homeostat.desired.model.ProcessSettings;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.Observation;
import io.homeostat.observe.files.UserRights;
import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.LaunchDirectory;
import io.homeostat.observe.process.LaunchDirectory.Born;
import io.homeostat.observe.process.LaunchDirectory.LaunchMarks;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.observe.process.UserMounts;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Launches a workload's process so that it outlives us: in its own session, with its output in a file. The process records its own
 * identity before it becomes the program, and a shell that waits for it (keeper.sh) records its exit.
 *
 * <p>A launch happens at most once: launching again returns the same process.
 */
public final class Launcher {
    private static final Logger LOG = LoggerFactory.getLogger(Launcher.class);

    private static final String KEEPER_SCRIPT = "HOMEOSTAT_KEEPER_SCRIPT";

    /** What a process has touched before it joins a group stays charged to the one before; what it executes then begins with nothing. */
    private static final String INTO_GROUP = "printf 0 >\"$0\"; exec \"$@\"";

    private static final Duration BIRTH_TIME = Duration.ofSeconds(5);
    private static final Duration BIRTH_POLL = Duration.ofMillis(1);
    private static final Duration BIRTH_POLL_AT_MOST = Duration.ofMillis(10);
    private static final int OUTPUT_SHOWN = 1000;

    private final Layout layout;
    private final LaunchDirectories launches;
    private final LogEnds logEnds;
    private final ProcessProtocol protocol;
    private final ProcFs procFs;
    private final Keepers keepers;
    private final String keeperScript;

    /** @param keepers shared by all launchers of this process; collected by whoever has them */
    public Launcher(Layout layout, ProcFs procFs, ProcessProtocol protocol, Keepers keepers) {
        this.keepers = keepers;
        this.layout = layout;
        this.launches = new LaunchDirectories(layout, procFs);
        this.logEnds = new LogEnds(layout);
        this.protocol = protocol;
        this.procFs = procFs;
        this.keeperScript = ProgramScript.read("keeper.sh");
    }

    /**
     * Launches a process and returns when it has identified itself. A program that can't be executed is refused where that can be told
     * before, and shows as exit status 126 or 127 where not.
     *
     * @param groups that it joins before its program's first instruction
     * @throws ActuationFailure when there is nothing that this machine can execute, no such user, or no process after five seconds; it may still appear, so
     *     the launch has to be observed, not forgotten
     */
    public ProcessIdentity launch(LaunchRequest request, CgroupPlan groups)
            throws ActuationFailure, InterruptedException {
        Instance instance = request.instance();
        WorkloadId id = instance.workload();
        LaunchDirectory directory = launches.of(instance);
        try {
            Optional<Born> born = directory.born();
            if (born.isPresent()) {
                return born.get().identity();
            }
            UserMounts.check(layout, id);
            // Before anything can fail: what was logged earlier explains no failure of this launch.
            logEnds.note(id);
            check(request);
            Account user = account(request.user());
            Account account = user.uid() == Account.ourUid() ? null : user;
            ImmutableList<String> becoming = new LaunchCommand(id, user, request.settings()).prefix();
            Path state = layout.workloadState(id);
            prepareState(id, account);
            if (account != null) {
                if (request.executable().startsWith(layout.stateDir())) {
                    SecureDirectories.letThrough(layout.stateDir(), request.executable());
                }
                checkReachable(request, account, request.executable());
                checkReachable(request, account, state);
            }
            Preparation preparation = protocol.prepare(instance, account);
            launches.write(instance);
            if (groups.oomKills() instanceof Observation.Seen<Long>(Long kills)) {
                Files.writeString(directory.oomKillsFile(), Long.toString(kills));
            }
            int keeper = spawn(request, directory, user, becoming, groups, preparation);
            return await(keeper, directory, id);
        } catch (ClosedByInterruptException e) {
            throw Interruption.of(e);
        } catch (IOException | IllegalStateException e) {
            throw new ActuationFailure(
                    "could not launch " + id.brief() + " (" + request.executable() + "): " + e.getMessage(), false, e);
        }
    }

    private void check(LaunchRequest request) throws ActuationFailure, IOException {
        Path executable = request.executable();
        Optional<ActuationFailure> problem = UserRights.ofThisMachine()
                .lookFor(request.user() != null, executable.toString(), () -> problem(request));
        if (problem.isPresent()) {
            throw problem.get();
        }
        ProgramStrings.check(request);
    }

    /** Returns why the entry point can't be launched; empty when it can. */
    private Optional<ActuationFailure> problem(LaunchRequest request) throws IOException {
        Path executable = request.executable();
        // What an archive lacks will be missing the next time too; what the system lacks may still be installed.
        boolean fatal = executable.startsWith(layout.installs(request.instance().workload()));
        if (!executable.isAbsolute()) {
            return problem(request, "is not an absolute path", true);
        }
        if (!Files.exists(executable)) {
            return problem(request, "does not exist; correct spec.entryPoint", fatal);
        }
        if (!Files.isRegularFile(executable)) {
            return problem(request, "is not a file; correct spec.entryPoint", fatal);
        }
        if (!Files.isExecutable(executable)) {
            return problem(
                    request, "may not be executed; it lacks the right (chmod +x) or its file system forbids it", fatal);
        }
        Optional<String> problem = ProgramFile.problem(executable);
        return problem.isPresent() ? problem(request, problem.get(), false) : Optional.empty();
    }

    private static Optional<ActuationFailure> problem(LaunchRequest request, String words, boolean fatal) {
        return Optional.of(new ActuationFailure(
                FailureCause.Kind.ENTRY_POINT,
                request.instance().workload().brief() + " can't be launched: its entry point " + request.executable()
                        + " " + words,
                fatal));
    }

    static Account account(@Nullable String user) throws ActuationFailure, InterruptedException, IOException {
        if (user == null) {
            return Account.ours();
        }
        Account account = Account.find(user)
                .orElseThrow(() -> new ActuationFailure(
                        FailureCause.Kind.USER,
                        "there is no user " + user + " on this machine; create it or declare another spec.user",
                        false));
        if (account.uid() != Account.ourUid() && Account.ourUid() != 0) {
            throw new ActuationFailure(
                    FailureCause.Kind.USER,
                    "spec.user is " + user + ", but only root can start a process as another user; run as root or leave"
                            + " spec.user out",
                    true);
        }
        return account;
    }

    private void prepareState(WorkloadId id, @Nullable Account account) throws IOException, InterruptedException {
        Path state = layout.workloadState(id);
        SecureDirectories.create(state, SecureDirectories.OURS);
        if (Account.ourUid() == 0) {
            StateOwner owner = StateOwner.of(account);
            owner.own(state, layout.stateOwners(id)).ifPresent(left -> LOG.warn("[{}] {}", id.brief(), left));
            owner.keepTheirs(layout.log(id)).ifPresent(removed -> LOG.warn("[{}] {}", id.brief(), removed));
        }
        if (account != null) {
            SecureDirectories.letThrough(layout.stateDir(), state);
        }
    }

    /** The directories above ours are not ours to open. */
    private static void checkReachable(LaunchRequest request, Account account, Path file)
            throws ActuationFailure, IOException {
        Optional<Path> closed = UserRights.ofThisMachine()
                .lookFor(request.user() != null, file.toString(), () -> account.barredOnTheWayTo(file));
        if (closed.isPresent()) {
            throw new ActuationFailure(
                    FailureCause.Kind.USER,
                    request.instance().workload().brief() + " can't be launched: the user " + account.name()
                            + " can't reach "
                            + file + ", because " + closed.get()
                            + " is closed to others; open it (chmod o+x), or use another directory",
                    false);
        }
    }

    private int spawn(
            LaunchRequest request,
            LaunchDirectory directory,
            Account user,
            ImmutableList<String> becoming,
            CgroupPlan groups,
            Preparation preparation)
            throws ActuationFailure, IOException {
        ImmutableList<String> command = ImmutableList.<String>builder()
                .addAll(groups.keeper()
                        .map(procs -> ImmutableList.of(ProgramScript.SHELL, "-c", INTO_GROUP, procs.toString()))
                        .orElse(ImmutableList.of()))
                .add(
                        ProgramScript.SHELL,
                        "-c",
                        ProgramScript.evaluated(KEEPER_SCRIPT),
                        "homeostat",
                        procFs.bootId(),
                        groups.required() ? "must" : "may",
                        Integer.toString(groups.procs().size()))
                .addAll(groups.procs().stream().map(Path::toString).toList())
                // The keeper is outside the program's session and process group.
                .add(LaunchCommand.tool("setsid"))
                .addAll(ProgramScript.command(
                        becoming,
                        layout.log(request.instance().workload()),
                        preparation.speaks(),
                        request.settings(),
                        request.executable(),
                        ImmutableList.<String>builder()
                                .addAll(request.arguments())
                                .addAll(preparation.arguments())
                                .build()))
                .build();
        return keepers.start(command, environment(request, directory, user, preparation));
    }

    /** All that the shells on the way get; nothing of our own environment. */
    private ImmutableMap<String, String> environment(
            LaunchRequest request, LaunchDirectory directory, Account user, Preparation preparation) {
        Map<String, String> program = request.environment(user);
        program.keySet().removeAll(preparation.withheld());
        program.putAll(preparation.env());
        return ImmutableMap.<String, String>builder()
                .putAll(ProgramScript.environment(program))
                .put(LaunchMarks.KEEPER, request.instance().launchId())
                .put(LaunchMarks.KEEPER_DIRECTORY, directory.path().toString())
                .put(KEEPER_SCRIPT, keeperScript)
                .buildOrThrow();
    }

    private ProcessIdentity await(int keeper, LaunchDirectory directory, WorkloadId id)
            throws ActuationFailure, IOException, InterruptedException {
        // Ever less often: when hundreds are launched at once, looking would take a good part of the time that they
        // wait for.
        Duration pause = BIRTH_POLL;
        for (Duration left = BIRTH_TIME; left.isPositive(); left = left.minus(pause)) {
            boolean ended = keepers.hasEnded(keeper);
            Optional<Born> born = directory.born();
            if (born.isPresent()) {
                return born.get().identity();
            }
            if (ended) {
                throw new ActuationFailure(
                        FailureCause.Kind.NO_PROCESS,
                        "could not launch " + id.brief() + ": no process came of it" + output(directory),
                        false);
            }
            Thread.sleep(pause);
            pause = Comparators.min(pause.multipliedBy(5).dividedBy(4), BIRTH_POLL_AT_MOST);
        }
        throw new ActuationFailure(
                FailureCause.Kind.TIMED_OUT,
                "could not launch " + id.brief() + ": no process within " + BIRTH_TIME.toSeconds() + " s"
                        + output(directory),
                false);
    }

    private static String output(LaunchDirectory directory) throws IOException {
        Path file = directory.outputFile();
        String text = Files.exists(file)
                ? Files.readString(file, StandardCharsets.ISO_8859_1).strip()
                : "";
        if (text.isEmpty()) {
            return "";
        }
        return "; the launching shell said: "
                + (text.length() <= OUTPUT_SHOWN ? text : text.substring(text.length() - OUTPUT_SHOWN));
    }

    /**
     * What to launch.
     *
     * @param instance as stored before; names the launch
     * @param arguments as declared; those of the protocol are added
     * @param env added to that of {@link Account#environment}
     * @param user name or number; null for our own user
     */
    public record LaunchRequest(
            Instance instance,
            Path executable,
            ImmutableList<String> arguments,
            ImmutableMap<String, String> env,
            @Nullable String user,
            ProcessSettings settings) {
        /** Of a process that is special in nothing. */
        public LaunchRequest(
                Instance instance,
                Path executable,
                ImmutableList<String> arguments,
                ImmutableMap<String, String> env,
                @Nullable String user) {
            this(instance, executable, arguments, env, user, ProcessSettings.NONE);
        }

        /** All that the program gets, as the user that it runs as. */
        Map<String, String> environment(Account account) {
            Map<String, String> program = new LinkedHashMap<>(account.environment());
            program.putAll(env);
            program.put(LaunchMarks.LAUNCH, instance.launchId());
            program.put(LaunchMarks.WORKLOAD, instance.workload().brief());
            return program;
        }

        /** Without the values, which may be secret. */
        @Override
        public String toString() {
            return "LaunchRequest[" + instance.workload() + " " + instance.launchId() + " " + executable + "]";
        }
    }
}
