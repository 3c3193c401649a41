package io.homeostat.reconcile.command.environment;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.MachineIdentity;
import io.homeostat.desired.platform.OwnDirectory;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.sqlite.MachineState;
import io.homeostat.desired.yaml.AgentConfigReader;
import io.homeostat.desired.yaml.AgentConfigReader.Places;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Where the state of this user on this machine is, unless the command line says otherwise (XDG Base Directory Specification). */
public final class UserDirectories {
    static final Path STATE_OF_ROOT = Path.of("/var/lib/homeostat");

    /** The variable that names the agent's configuration for every command. */
    public static final String CONFIG = "HOMEOSTAT_CONFIG";

    public static final String HOME = "HOME";
    public static final String CONFIG_HOME = "XDG_CONFIG_HOME";

    static final Path MACHINE_ID = Path.of("/etc/machine-id");
    private static final Pattern HEX_ID = Pattern.compile("[0-9a-f]{32}");

    /** In agent.yaml: find out. */
    static final String AUTO = "auto";

    /** For a machine that has no id: state that is kept on it is its own all the same. */
    private static final String NO_ID = "local";

    private static final String RUN_DIRECTORY = "the run directory";

    private final Environment environment;

    public UserDirectories(Environment environment) {
        this.environment = environment;
    }

    /** The directories to work on; fails when one that anybody could have made would have to be trusted. */
    public Layout layout(GlobalOptions options, AgentConfig config) {
        return layout(options, config.stateDir(), config.runDir(), config.instanceId());
    }

    /** The same where no configuration says otherwise. */
    public Layout layout(GlobalOptions options) {
        return layout(options, null, null, AUTO);
    }

    /** The same for a file that was read, also with errors, see {@link InvalidConfig#layout}. */
    public Layout layout(GlobalOptions options, ConfigFile file, AgentConfigReader.Result read) {
        AgentConfig config = read.config();
        return config == null ? new InvalidConfig(file, read).layout(this, options) : layout(options, config);
    }

    /** The same where no more is known of the configuration. */
    Layout layout(GlobalOptions options, Places places) {
        return layout(options, places.stateDir(), places.runDir(), AUTO);
    }

    private Layout layout(
            GlobalOptions options, @Nullable String stateDir, @Nullable String runDir, String instanceId) {
        Path state = options.stateDir()
                .map(path -> absolute("--state-dir", path))
                .or(() -> Optional.ofNullable(stateDir).map(Path::of))
                .orElseGet(this::defaultState);
        Path run = options.runDir()
                .map(path -> absolute("--run-dir", path))
                .or(() -> Optional.ofNullable(runDir).map(Path::of))
                .orElseGet(this::defaultRun);
        requireOurs(OwnDirectory.objection(state, environment.isRoot()), state, "the state directory", "--state-dir");
        requireOurs(OwnDirectory.objection(run, environment.isRoot()), run, RUN_DIRECTORY, "--run-dir");
        Layout layout = new Layout(state, run, instanceId(MACHINE_ID));
        return layout.of(instanceId.equals(AUTO) ? lastKnown(layout) : instanceId);
    }

    private static void requireOurs(Optional<String> objection, Path directory, String what, String option) {
        objection.ifPresent(why -> {
            throw new CommandFailure(
                    what + " " + directory + " can't be used: " + why + ", or choose another with " + option);
        });
    }

    /** For commands that only look: the last known machine. Those that change something claim the directory, see {@link MachineClaim}. */
    private static String lastKnown(Layout layout) {
        try {
            return new MachineState(layout).owner().map(MachineIdentity::id).orElse(layout.instanceId());
        } catch (StoreException e) {
            // The database can't be read either, then, and whoever needs it says why.
            return layout.instanceId();
        }
    }

    /** The configuration of this user's agent, or which {@link #CONFIG} names; unless {@code --config} names another. */
    public ConfigFile configFile() {
        String named = environment.variable(CONFIG);
        return named.isEmpty()
                ? new ConfigFile(configuration().resolve("agent.yaml"), false, environment.isRoot())
                : new ConfigFile(environment.workingDirectory().resolve(named).normalize(), true, environment.isRoot());
    }

    /** Where what is wanted is declared, unless the agent's configuration says otherwise. */
    public ImmutableList<Path> desiredFiles() {
        return ImmutableList.of(configuration().resolve("desired.d"));
    }

    private Path configuration() {
        if (environment.isRoot()) {
            return Path.of("/etc/homeostat");
        }
        return xdg(CONFIG_HOME).orElseGet(() -> home().resolve(".config")).resolve("homeostat");
    }

    public Path absolute(String option, String path) {
        if (path.isEmpty()) {
            // An unset variable, as a rule; the working directory is not what was meant.
            throw new UsageException(option + " is empty; give it a directory or leave it out");
        }
        return environment.workingDirectory().resolve(path).normalize();
    }

    private Path defaultState() {
        if (environment.isRoot()) {
            return STATE_OF_ROOT;
        }
        return xdg("XDG_STATE_HOME")
                .orElseGet(() -> home().resolve(".local").resolve("state"))
                .resolve("homeostat");
    }

    private Path home() {
        String home = environment.variable(HOME);
        if (!home.startsWith("/")) {
            throw new CommandFailure("there is no HOME to keep state in; choose a directory with --state-dir");
        }
        return Path.of(home);
    }

    private Path defaultRun() {
        if (environment.isRoot()) {
            return Path.of("/run/homeostat");
        }
        Optional<Path> runtime = xdg("XDG_RUNTIME_DIR");
        if (runtime.isPresent()) {
            return runtime.get().resolve("homeostat");
        }
        checkOwner(shared());
        return shared();
    }

    private Path shared() {
        return Path.of("/tmp", "homeostat-" + environment.uid());
    }

    /** The specification: what is not absolute is to be ignored. */
    private Optional<Path> xdg(String variable) {
        String value = environment.variable(variable);
        return value.startsWith("/") ? Optional.of(Path.of(value)) : Optional.empty();
    }

    /** Makes the directory of sockets, for nobody else to enter; what is missing above it is made as the umask says, never for others to write. */
    public void createRunDirectory(Path directory) {
        try {
            Path parent = directory.getParent();
            if (parent != null) {
                Files.createDirectories(
                        parent, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwxr-xr-x")));
            }
            Files.createDirectories(
                    directory, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            requireOurs(
                    OwnDirectory.objectionToContent(directory, environment.isRoot()),
                    directory,
                    RUN_DIRECTORY,
                    "--run-dir");
        } catch (FileAlreadyExistsException e) {
            throw new CommandFailure(
                    directory + " is in the way of the run directory; choose another with --run-dir", e);
        } catch (IOException e) {
            throw new CommandFailure(
                    "cannot create the run directory " + directory + ": " + e.getMessage()
                            + "; choose another with --run-dir",
                    e);
        }
        if (directory.equals(shared())) {
            checkOwner(directory);
        }
    }

    /** In /tmp anybody can make a directory of any name first, and would then own our sockets. */
    private void checkOwner(Path directory) {
        try {
            Number owner = (Number) Files.getAttribute(directory, "unix:uid", LinkOption.NOFOLLOW_LINKS);
            boolean ours = owner.longValue() == environment.uid()
                    && Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)
                    && ((Number) Files.getAttribute(directory, "unix:mode")).intValue() % 0100 == 0;
            if (!ours) {
                throw new CommandFailure(
                        "the run directory " + directory
                                + " is not a directory of this user that nobody else can enter; remove it, or choose another with --run-dir");
            }
        } catch (NoSuchFileException e) {
            // Whoever needs it makes it.
        } catch (IOException e) {
            throw new CommandFailure("cannot look at the run directory " + directory + ": " + e.getMessage(), e);
        }
    }

    public static String instanceId(Path machineId) {
        return machineId(machineId).orElse(NO_ID);
    }

    /** The machine's id, machine-id(5); empty when it has none, or not yet. */
    static Optional<String> machineId(Path file) {
        try {
            String id = Files.readString(file, StandardCharsets.US_ASCII).strip();
            return HEX_ID.matcher(id).matches() ? Optional.of(id) : Optional.empty();
        } catch (IOException e) {
            return Optional.empty();
        }
    }
}
