package io.homeostat.desired.platform;

import com.google.common.hash.Hashing;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Optional;
import java.util.UUID;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Where everything is on disk. Pure: computes paths and looks at no file.
 *
 * <p>Plugins see the layout of the guest agent they were written for: {@code <kind>/<name>_<revision>} and a symlink
 * {@code <kind>/<name>}. Both names and revisions may contain underscores, so {@code a_b} could be plugin {@code a} at revision {@code b}
 * as well as the symlink of plugin {@code a_b}. Whatever has an underscore therefore gets a suffix that begins with {@code ~}, which
 * neither a name nor a revision that YAML can have contains. Others have names of directories of their own, see {@link #directoryName}.
 *
 * @param stateDir durable state, survives a reboot
 * @param runDir sockets, may be emptied by a reboot
 * @param instanceId of the machine to which the state belongs
 */
public record Layout(Path stateDir, Path runDir, String instanceId) {
    /**
     * The longest path of a unix socket, in bytes. The kernel takes 107 (sun_path is 108 with its final zero, unix(7)), but the JDK
     * connects to at most 106, so a plugin that listened on 107 could not be reached.
     */
    public static final int MAX_SOCKET_PATH = 106;

    /** What a plugin may need below the directory of its sockets, as in {@code /plugin4294967295}. */
    private static final int NAME_OF_SOCKET = 24;

    private static final int HASH_DIGITS = 16;

    /** A revision that is part of a directory's name as it is: what YAML can have. */
    private static final Pattern PLAIN_REVISION = Pattern.compile("[A-Za-z0-9._-]{1,64}");

    public Path database() {
        return stateDir.resolve("homeostat.db");
    }

    public Path lock() {
        return stateDir.resolve("lock");
    }

    /** The {@link MachineIdentity} to which the state belongs, as JSON. */
    public Path machineFile() {
        return stateDir.resolve("instance");
    }

    /** The same directories for another machine. */
    public Layout of(String otherMachine) {
        return new Layout(stateDir, runDir, otherMachine);
    }

    /** Which agent runs on this state directory, if any, and where it listens. */
    public Path agentFile() {
        return stateDir.resolve("agent");
    }

    /** Where an agent listens for commands. */
    public Path agentSocket() {
        return runDir.resolve("agent.sock");
    }

    /** The address of the page with its token, for whoever may read it; there while an agent serves one. */
    public Path uiAddress() {
        return runDir.resolve("ui.url");
    }

    /** The same as a document that leads a browser there, so that no process has the token among its arguments. */
    public Path uiEntrance() {
        return runDir.resolve("ui.html");
    }

    /** Complete archives, one file each, named by its key; see {@link #archive}. */
    public Path archives() {
        return stateDir.resolve("cache").resolve("archives");
    }

    public Path archive(String key) {
        return archives().resolve(key);
    }

    /** Downloads that are under way; named by their key, so that they can be resumed. */
    public Path downloads() {
        return stateDir.resolve("cache").resolve("downloads");
    }

    /** Where a git repository is while it is read. */
    public Path repositories() {
        return stateDir.resolve("cache").resolve("repositories");
    }

    public Path machineDirectory() {
        return stateDir.resolve(instanceId);
    }

    /** Where the installed revisions of a kind and the symlinks to the active ones are. */
    public Path installs(Kind kind) {
        return machineDirectory().resolve(kind.plural());
    }

    public Path installs(WorkloadId id) {
        return installs(id.kind());
    }

    public Path install(WorkloadId id, String directory) {
        return installs(id).resolve(directory);
    }

    /** The symlink to the active revision. */
    public Path active(WorkloadId id) {
        String name = directoryName(id);
        return installs(id).resolve(name.contains("_") ? name + "~" : name);
    }

    /** The name of the directories of a workload, of at most 120 characters: its own name, where YAML can have that. */
    public static String directoryName(WorkloadId id) {
        return DirectoryName.of(id.name());
    }

    /** The workload of this kind whose directories are called so; empty when there can't be one, or its name can't be told from it. */
    public static Optional<WorkloadId> workload(Kind kind, String directoryName) {
        return DirectoryName.read(directoryName).map(name -> new WorkloadId(kind, name));
    }

    /** One directory a workload of this kind: what is not yet, or no longer, an install. */
    public Path stagings(Kind kind) {
        return installs(kind).resolve(".staging");
    }

    /** Where archives are unpacked before they become visible. Beside the installs: a rename must not cross file systems. */
    public Path staging(WorkloadId id) {
        return stagings(id.kind()).resolve(directoryName(id));
    }

    /** One directory a workload of this kind, see {@link #workloadState(WorkloadId)}. */
    public Path workloadStates(Kind kind) {
        return machineDirectory().resolve("agent_state").resolve(kind.plural());
    }

    /** The workload's own state, kept across revisions. */
    public Path workloadState(WorkloadId id) {
        return workloadStates(id.kind()).resolve(directoryName(id));
    }

    /**
     * Our own note on the users who may own a part of {@link #workloadState(WorkloadId)} while that is given to another one; a file, there
     * until all of it is.
     */
    public Path stateOwners(WorkloadId id) {
        return machineDirectory()
                .resolve("state-owners")
                .resolve(id.kind().plural())
                .resolve(directoryName(id));
    }

    /** What the workload writes to its standard output and error. */
    public Path log(WorkloadId id) {
        return workloadState(id).resolve(logName(id.kind()));
    }

    public static String logName(Kind kind) {
        return kind.word() + ".log";
    }

    /** One directory a workload of this kind: our own notes on when its logs have grown, a file for each log. */
    public Path logTimes(Kind kind) {
        return machineDirectory().resolve("log-times").resolve(kind.plural());
    }

    /** Workloads can't write here, see {@link #logTimes(Kind)}. */
    public Path logTimes(WorkloadId id) {
        return logTimes(id.kind()).resolve(directoryName(id));
    }

    /** One directory a kind, see {@link #launches(Kind)}. */
    public Path launches() {
        return machineDirectory().resolve("launches");
    }

    /** One directory a workload of this kind, see {@link #launches(WorkloadId)}. */
    public Path launches(Kind kind) {
        return launches().resolve(kind.plural());
    }

    /** Our own notes on launches of this workload, one directory a launch; workloads can't write here. */
    public Path launches(WorkloadId id) {
        return launches(id.kind()).resolve(directoryName(id));
    }

    public Path launch(WorkloadId id, String launchId) {
        return launches(id).resolve(launchId);
    }

    /**
     * The directory of an installed revision.
     *
     * @param content tells two archives of the same revision apart; null for the first one, which has the plain name
     */
    public static String installName(WorkloadId id, String revision, @Nullable String content) {
        String name = directoryName(id);
        if (!PLAIN_REVISION.matcher(revision).matches()) {
            String hash = DirectoryName.hash(id.name(), revision, content == null ? "" : content);
            return name + "_" + DirectoryName.beginning(revision) + "~" + hash;
        }
        String plain = name + "_" + revision;
        if (content != null) {
            return plain + "~" + hash(id.name() + "\0" + revision + "\0" + content);
        }
        boolean ambiguous = name.contains("_") || revision.contains("_");
        return ambiguous ? plain + "~" + hash(id.name() + "\0" + revision) : plain;
    }

    /**
     * The socket on which a plugin has to listen; hashed if the readable name is too long. Each kind has a directory of its own, so that
     * workloads of two kinds with one name have two sockets.
     *
     * @throws IllegalStateException if the run directory itself is too long; the message names the remedy
     */
    public Path socket(WorkloadId id, String revision) {
        Path directory = runDir.resolve(id.kind().word() + "-connections");
        Path readable = directory.resolve(installName(id, revision, null) + ".sock");
        if (bytes(readable) <= MAX_SOCKET_PATH) {
            return readable;
        }
        Path hashed = directory.resolve(hash(id + "\0" + revision) + ".sock");
        if (bytes(hashed) > MAX_SOCKET_PATH) {
            throw new IllegalStateException(
                    "the run directory " + runDir + " is too long for unix sockets: " + hashed + " has " + bytes(hashed)
                            + " bytes, at most " + MAX_SOCKET_PATH + " are possible; choose a shorter --run-dir");
        }
        return hashed;
    }

    /**
     * Where the directories of a task are, in one whose name is the id of its allocation: a UUID, always the same for this task, and
     * another one in each state directory. The task's control groups are named after it, and two agents may each have a task of the
     * same name.
     */
    public Path allocation(WorkloadId id) {
        UUID uuid = UUID.nameUUIDFromBytes((machineDirectory() + "\0" + id).getBytes(StandardCharsets.UTF_8));
        return machineDirectory().resolve("allocations").resolve(uuid.toString());
    }

    /** What keeps the network namespace of a task, if it has one that we have made: a boot takes it away. */
    public Path network(WorkloadId id) {
        return runDir.resolve("networks").resolve(String.valueOf(allocation(id).getFileName()));
    }

    /**
     * Where a driver and what it starts make their sockets, with room for the names that they choose; kept as long as its tasks are.
     *
     * @throws IllegalStateException if the run directory itself is too long; the message names the remedy
     */
    public Path driverSockets(WorkloadId id) {
        Path directory = runDir.resolve(id.kind().word() + "-connections");
        Path readable = directory.resolve(directoryName(id));
        if (bytes(readable) <= MAX_SOCKET_PATH - NAME_OF_SOCKET) {
            return readable;
        }
        Path hashed = directory.resolve(hash(id.toString()));
        if (bytes(hashed) > MAX_SOCKET_PATH - NAME_OF_SOCKET) {
            throw new IllegalStateException("the run directory " + runDir + " is too long for unix sockets of drivers: "
                    + hashed + " has " + bytes(hashed) + " bytes, at most " + (MAX_SOCKET_PATH - NAME_OF_SOCKET)
                    + " are possible; choose a shorter --run-dir");
        }
        return hashed;
    }

    private static int bytes(Path path) {
        return path.toString().getBytes(StandardCharsets.UTF_8).length;
    }

    private static String hash(String text) {
        return Hashing.sha256()
                .hashString(text, StandardCharsets.UTF_8)
                .toString()
                .substring(0, HASH_DIGITS);
    }
}
