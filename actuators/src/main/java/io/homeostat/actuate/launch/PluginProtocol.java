package io.homeostat.actuate.launch;

import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.SecureDirectories;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.health.PluginChannel;
import io.homeostat.observe.health.PluginChannel.PluginReply;
import io.homeostat.observe.process.Account;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Plugins listen on the socket that they are told at their launch, and end when they are asked to. Sockets are in a directory closed
 * to everybody else, so that nobody can listen in a plugin's place and receive its configuration. A plugin that runs as another user
 * cannot create anything there: it listens in a directory of that user, and a symlink is at the usual place.
 */
public final class PluginProtocol implements ProcessProtocol {
    private static final Logger LOG = LoggerFactory.getLogger(PluginProtocol.class);

    private final Layout layout;
    private final PluginChannel plugins;

    /** @param plugins used, not closed */
    public PluginProtocol(Layout layout, PluginChannel plugins) {
        this.layout = layout;
        this.plugins = plugins;
    }

    @Override
    public Preparation prepare(Instance instance, @Nullable Account account) throws IOException {
        WorkloadId id = instance.workload();
        Path errors = layout.workloadState(id).resolve("errors.log");
        if (Account.ourUid() == 0) {
            StateOwner.of(account).keepTheirs(errors).ifPresent(removed -> LOG.warn("[{}] {}", id.brief(), removed));
        }
        return Preparation.of("--protocol=unix", "--address=" + socket(instance, account), "--errorlogfile=" + errors);
    }

    /** Asks only when Start is known to have succeeded: some plugins crash on a Stop before Start. */
    @Override
    public Answer stop(Instance instance, boolean cleanup, Duration timeout) throws InterruptedException {
        if (!instance.isStarted()) {
            return Answer.NOT_ASKED;
        }
        Path socket = layout.socket(instance.workload(), instance.revision());
        return plugins.stop(socket, cleanup, timeout) instanceof PluginReply.Done ? Answer.AGREED : Answer.REFUSED;
    }

    /** Creates the directory, removes what an earlier process left there, and returns where the plugin has to listen. */
    private Path socket(Instance instance, @Nullable Account account) throws IOException {
        Path socket = layout.socket(instance.workload(), instance.revision());
        SecureDirectories.create(parent(socket), SecureDirectories.OURS);
        ended(instance);
        // It can't listen where anything else is.
        Files.deleteIfExists(socket);
        if (account == null) {
            return socket;
        }
        Path directory = userDirectory(account);
        SecureDirectories.create(directory, SecureDirectories.OURS);
        Files.setAttribute(directory, "unix:uid", account.uid(), LinkOption.NOFOLLOW_LINKS);
        Files.setAttribute(directory, "unix:gid", account.gid(), LinkOption.NOFOLLOW_LINKS);
        SecureDirectories.letThrough(layout.runDir(), directory);
        Path real = directory.resolve(socket.getFileName());
        Files.deleteIfExists(real);
        Files.createSymbolicLink(socket, real);
        return real;
    }

    @Override
    public void ended(Instance instance) throws IOException {
        Sockets.delete(layout, new LocalDisk(), instance.workload(), instance.revision());
    }

    /** Not longer than the usual directory, so that paths in it are never too long. */
    private Path userDirectory(Account account) {
        return layout.runDir().resolve("u" + account.uid());
    }

    private static Path parent(Path file) {
        Path parent = file.getParent();
        if (parent == null) {
            throw new IllegalStateException(file + " is in no directory");
        }
        return parent;
    }
}
