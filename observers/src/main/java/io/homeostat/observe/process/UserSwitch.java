package io.homeostat.observe.process;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.ProcessSettings;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.desired.state.history.FailureCause;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** How a command is run as another user: by setpriv(1), which executes it. */
public final class UserSwitch {
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
        ImmutableSet.Builder<String> groups = ImmutableSet.builder();
        groups.addAll(Splitter.on(' ').split(said("id", "-G", "--", user.name())));
        if (settings.supplementaryGroups() != null) {
            for (String group : settings.supplementaryGroups()) {
                groups.add(gid("supplementaryGroups", group));
            }
        }
        String group = settings.group() == null ? Integer.toString(user.gid()) : gid("group", settings.group());
        return ImmutableList.of(
                tool("setpriv"),
                "--reuid=" + user.uid(),
                "--regid=" + group,
                "--groups=" + String.join(",", groups.build()),
                "--");
    }

    /**
     * Why a command is not run as root beside a workload that is not, as a sentence with its remedy; empty when it may be: nobody but root
     * can change the program.
     */
    public static Optional<String> problemAsRoot(Path program) throws IOException {
        if (Account.ourUid() != 0) {
            return Optional.of("asRoot is true, and the agent is not root; run it as root or remove asRoot");
        }
        return TrustedPath.objectionOfRoot(program)
                .map(found -> found.why() + "; " + found.remedy() + ", or remove asRoot");
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
