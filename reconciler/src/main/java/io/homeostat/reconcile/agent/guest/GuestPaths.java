package io.homeostat.reconcile.agent.guest;

import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;

/**
 * Where in this machine is what callers name by the paths of Kata's agent. All of it is below one directory, which is emptied with each boot.
 *
 * @param root absolute
 */
record GuestPaths(Path root) {
    /** What callers may copy files into. */
    static final String SHARED = "/run/kata-containers/shared/containers/";

    private static final String CONTAINERS = "/run/kata-containers/";
    private static final String NAMESPACES = "/run/sandbox-ns/";

    private static final String ID = "[A-Za-z0-9][A-Za-z0-9._-]{1,199}";

    /** Where a path is, or the bundle of a container by its first file; those that are no business of an agent's are where they say. */
    Path real(String path) {
        if (path.startsWith(CONTAINERS)) {
            String[] words = path.substring(CONTAINERS.length()).split("/", 3);
            if (words.length == 2 && isId(words[0]) && words[1].equals("config.json")) {
                return container(words[0]).resolve(words[1]);
            }
            return below(run(), path.substring(CONTAINERS.length()), path);
        }
        if (path.startsWith(NAMESPACES)) {
            return below(root.resolve("sandbox-ns"), path.substring(NAMESPACES.length()), path);
        }
        try {
            return Path.of(path);
        } catch (InvalidPathException e) {
            throw noPath(path, e);
        }
    }

    private static StatusRuntimeException noPath(String path, InvalidPathException e) {
        return Refusals.internal("'" + path + "' is no path: " + e.getReason());
    }

    private static Path below(Path directory, String rest, String path) {
        Path result;
        try {
            result = directory.resolve(rest).normalize();
        } catch (InvalidPathException e) {
            throw noPath(path, e);
        }
        if (rest.startsWith("/") || !result.startsWith(directory)) {
            throw Refusals.internal(path + " leads out of its directory");
        }
        return result;
    }

    private Path run() {
        return root.resolve("run");
    }

    /** A directory for each container, its bundle, which callers put nothing into. */
    Path containers() {
        return root.resolve("containers");
    }

    Path container(String id) {
        return containers().resolve(id);
    }

    /** Whether that can be a container's. */
    static boolean isId(String id) {
        return id.matches(ID);
    }

    /** What the runtime keeps of containers. */
    Path runtime() {
        return root.resolve("runtime");
    }

    Path namespaces() {
        return root.resolve("namespaces");
    }

    /** A namespace that the containers of the sandbox share. */
    Path namespace(String type) {
        return namespaces().resolve(type);
    }

    /** There as soon as there is a sandbox. */
    Path sandboxMark() {
        return real(NAMESPACES + "ipc");
    }

    /**
     * Where a file is that is copied here. No link leads there, whoever has made it.
     *
     * @throws FileSystemException when one does
     */
    Path copied(String path) throws IOException {
        if (!path.startsWith(SHARED)) {
            throw Refusals.internal(path + " is not below " + SHARED + ", and nothing else is copied");
        }
        Path shared = real(SHARED);
        Path result = below(shared, path.substring(SHARED.length()), path);
        if (result.equals(shared)) {
            throw Refusals.internal(path + " names no file");
        }
        for (Path above = result.getParent(); above != null && !above.equals(shared); above = above.getParent()) {
            if (Files.isSymbolicLink(above)) {
                throw new FileSystemException(above.toString(), null, "is a link, and no file is copied through it");
            }
        }
        return result;
    }
}
