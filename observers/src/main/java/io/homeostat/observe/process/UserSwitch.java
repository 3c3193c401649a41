package io.homeostat.observe.process;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.ProcessSettings;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.desired.platform.TrustedPath.Objection;
import io.homeostat.desired.state.history.FailureCause;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.Channels;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** How a command is run as another user: by setpriv(1), which executes it. */
public final class UserSwitch {
    /** As many as the kernel follows, execve(2). */
    private static final int MOST_INTERPRETERS = 5;

    private UserSwitch() {}

    /** Why a command can't be run as it is declared, as a sentence with its remedy. */
    public static final class Refused extends Exception {
        private static final long serialVersionUID = 1L;

        private final FailureCause.Kind kind;
        private final boolean permanent;

        private Refused(FailureCause.Kind kind, String message, boolean permanent) {
            super(message);
            this.kind = kind;
            this.permanent = permanent;
        }

        public FailureCause.Kind kind() {
            return kind;
        }

        /** Whether it stays so until something else is declared, or the agent is another user's. */
        public boolean isPermanent() {
            return permanent;
        }
    }

    /**
     * The end of a sentence about a command of a document that has failed: it may have needed root.
     *
     * @param user null: as we
     */
    public static String runAs(@Nullable String user) {
        return user == null ? "" : ", run as " + user + " (as root with asRoot: true)";
    }

    /**
     * What precedes a command that is to run as a user, with the groups that are declared; empty when we are that user already.
     *
     * @throws Refused when other groups are declared and we may not change ours, or a group or a tool is missing
     */
    public static ImmutableList<String> command(Account user, ProcessSettings settings)
            throws Refused, IOException, InterruptedException {
        boolean regrouped = settings.group() != null || settings.supplementaryGroups() != null;
        if (!regrouped) {
            return user.uid() == Account.ourUid()
                    ? ImmutableList.of()
                    : ImmutableList.of(
                            tool("setpriv"), "--reuid=" + user.uid(), "--regid=" + user.gid(), "--init-groups", "--");
        }
        if (Account.ourUid() != 0) {
            throw new Refused(
                    FailureCause.Kind.USER,
                    "spec." + (settings.group() != null ? "group" : "supplementaryGroups")
                            + " is set, but only root can give a process other groups; run as root or leave it out",
                    true);
        }
        return ImmutableList.of(
                tool("setpriv"),
                "--reuid=" + user.uid(),
                "--regid=" + gid(user, settings.group()),
                "--groups=" + String.join(",", groups(user, settings.supplementaryGroups())),
                "--");
    }

    /** The number of a group that is declared, or else of that of the user. */
    public static String gid(Account user, @Nullable String declared)
            throws Refused, IOException, InterruptedException {
        return declared == null ? Integer.toString(user.gid()) : gid("group", declared);
    }

    /** The numbers of all groups that a user is in, and of those that are declared. */
    public static ImmutableSet<String> groups(Account user, @Nullable ImmutableList<String> declared)
            throws Refused, IOException, InterruptedException {
        ImmutableSet.Builder<String> groups = ImmutableSet.builder();
        groups.addAll(Splitter.on(' ').omitEmptyStrings().split(said("id", "-G", "--", user.name())));
        if (declared != null) {
            for (String group : declared) {
                groups.add(gid("supplementaryGroups", group));
            }
        }
        return groups.build();
    }

    /**
     * Why a command is not run as root beside a workload that is not, as a sentence with its remedy; empty when it may be: nobody but root
     * can change the program.
     */
    public static Optional<String> problemAsRoot(Path program) throws IOException {
        if (Account.ourUid() != 0) {
            return Optional.of("asRoot is true, and the agent is not root; run it as root or remove asRoot");
        }
        return objection(program).map(found -> found.why() + "; " + found.remedy() + ", or remove asRoot");
    }

    /** Why a command of the configuration is not run, as {@link #problem(Path)}; empty, too, when its program is not there. */
    public static Optional<String> problem(List<String> command) {
        return command.stream().findFirst().flatMap(Executables::find).flatMap(UserSwitch::problem);
    }

    /** Why a program of the configuration is not run, as a sentence with its remedy; empty when it may be. */
    public static Optional<String> problem(Path program) {
        try {
            return objection(program)
                    .map(found -> program + " is not run as root: " + found.why() + "; " + found.remedy());
        } catch (IOException e) {
            return Optional.of(program + " is not run as root, as it can't be read: " + e.getMessage()
                    + "; repair it, or name another program");
        }
    }

    /**
     * What lets others than root choose what is executed: they can change the program, or an interpreter that is named in its first line.
     * Empty when nothing does, and always when this process is not one of root.
     */
    private static Optional<Objection> objection(Path program) throws IOException {
        if (!TrustedPath.isRoot()) {
            return Optional.empty();
        }
        Path file = program;
        for (int followed = 0; followed <= MOST_INTERPRETERS; followed++) {
            Optional<Objection> found = TrustedPath.objectionOfRoot(file);
            Optional<Path> interpreter = found.isPresent() ? Optional.empty() : interpreter(file);
            if (interpreter.isEmpty()) {
                return found;
            }
            if (Executables.find(interpreter.get().toString()).isEmpty()) {
                return Optional.of(new Objection(
                        file,
                        file + " has an interpreter in its first line that is not there, or may not be executed",
                        "correct it",
                        null));
            }
            file = interpreter.get();
        }
        return Optional.empty();
    }

    /** What executes a script that is started in /; empty when it is none. */
    private static Optional<Path> interpreter(Path file) throws IOException {
        try (PinnedFile pinned = PinnedFile.following(file);
                InputStream content = Channels.newInputStream(pinned.read(file.toString()))) {
            return Executables.interpreter(content.readNBytes(Executables.HEAD))
                    .map(name -> Path.of("/").resolve(name));
        }
    }

    private static String gid(String field, String group) throws Refused, IOException, InterruptedException {
        if (group.chars().allMatch(Character::isDigit)) {
            return group;
        }
        List<String> fields = Splitter.on(':').splitToList(said("getent", "group", "--", group));
        if (fields.size() < 3) {
            throw new Refused(
                    FailureCause.Kind.USER,
                    "there is no group " + group + " on this machine; create it or declare another spec." + field,
                    false);
        }
        return fields.get(2);
    }

    /** The first line that a command prints; empty when it prints none. */
    public static String said(String... command) throws Refused, IOException, InterruptedException {
        command[0] = tool(command[0]);
        Process process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        process.getOutputStream().close();
        String answer = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        process.waitFor();
        return answer.lines().findFirst().orElse("");
    }

    /**
     * Where a command of this machine is.
     *
     * @throws Refused names the package that it comes in
     */
    public static String tool(String name) throws Refused {
        return Executables.find(name)
                .map(Path::toString)
                .orElseThrow(() -> new Refused(
                        FailureCause.Kind.TOOL_MISSING,
                        "the command " + name + " is not on this machine, launching needs it; install "
                                + packageOf(name),
                        false));
    }

    private static String packageOf(String tool) {
        return switch (tool) {
            case "nice", "id", "env", "true" -> "coreutils";
            case "getent" -> "libc-bin (glibc-common)";
            default -> "util-linux";
        };
    }
}
