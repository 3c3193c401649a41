package io.homeostat.reconcile.command.environment;

import io.homeostat.desired.platform.Layout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** How an agent is started on this machine, for people: by systemd where it has a service for it. */
public final class AgentService {
    private static final Path ROOT = Path.of("/");
    private static final String NAME = "homeostat";

    private AgentService() {}

    /** The command that starts an agent on a state directory. */
    public static String start(Layout layout) {
        return start(layout, ROOT);
    }

    /** @param root where the directories of the system are */
    static String start(Layout layout, Path root) {
        boolean hasService = layout.stateDir().equals(UserDirectories.STATE_OF_ROOT)
                && Files.isDirectory(root.resolve("run/systemd/system"))
                && Stream.of("etc", "usr/local/lib", "usr/lib", "lib")
                        .map(directory -> root.resolve(directory).resolve("systemd/system/" + NAME + ".service"))
                        .anyMatch(Files::exists);
        return hasService ? "systemctl start " + NAME : "homeostat run";
    }
}
