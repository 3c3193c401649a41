package io.homeostat.actuate.task;

import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.Mounts;
import io.homeostat.actuate.SecureDirectories;
import io.homeostat.desired.state.history.FailureCause;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Optional;

/**
 * Makes and removes network namespaces with nothing in them but lo, which is down. A file keeps each: the namespace is mounted on it, as
 * {@code ip netns} does it (ip-netns(8)), and whoever opens the file can enter. A boot leaves the file, without the mount.
 */
public final class NetworkNamespaces {
    private final Mounts mounts;

    public NetworkNamespaces() {
        this(new Mounts());
    }

    /** @param mounts who mounts them; for tests */
    public NetworkNamespaces(Mounts mounts) {
        this.mounts = mounts;
    }

    /**
     * Makes a namespace unless it is there.
     *
     * @param file that keeps it; its directory is made for us alone
     * @throws ActuationFailure when the kernel does not let us, with the remedy
     */
    public void make(Path file) throws ActuationFailure, InterruptedException {
        Optional<String> problem;
        try {
            SecureDirectories.create(Objects.requireNonNull(file.getParent()), SecureDirectories.OURS);
            create(file);
            problem = mounts.networkNamespace(file);
        } catch (IOException e) {
            throw new ActuationFailure(
                    "could not make the network namespace " + file + ": " + Disk.reason(e), false, e);
        }
        if (problem.isPresent()) {
            throw new ActuationFailure(
                    FailureCause.Kind.ACCESS_DENIED,
                    "could not make the network namespace " + file + ": " + problem.get()
                            + "; run homeostat as root, with the capability CAP_SYS_ADMIN",
                    false);
        }
    }

    private static void create(Path file) throws IOException {
        try {
            Files.createFile(file, SecureDirectories.OUR_FILE);
        } catch (FileAlreadyExistsException e) {
            if (!Files.isRegularFile(file)) {
                throw e;
            }
        }
    }

    /** Removes a namespace and its file, if they are there. Who is in it stays there. */
    public void remove(Path file) throws ActuationFailure {
        try {
            if (Files.notExists(file)) {
                return;
            }
            mounts.clear(file);
            Files.deleteIfExists(file);
        } catch (IOException e) {
            throw new ActuationFailure(
                    "could not remove the network namespace " + file + ": " + Disk.reason(e), false, e);
        }
    }
}
