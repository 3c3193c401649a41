package io.homeostat.actuate;

import com.google.common.collect.ImmutableList;
import com.google.common.hash.Hashing;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.observe.Observation;
import io.homeostat.observe.install.Installation;
import io.homeostat.observe.install.InstallationObserver;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Stream;

/** The directories of a machine below a temporary one, and what is in them. */
public record Machine(Path root, Layout layout) {
    public static final WorkloadId ID = WorkloadId.plugin("greeter");

    public static Machine in(Path root) {
        return new Machine(root, new Layout(root.resolve("state"), root.resolve("run"), "instance"));
    }

    /** Puts an archive into the cache, as a download would, and returns its key. */
    public String cached(byte[] archive) throws IOException {
        String key = sha256(archive);
        Files.createDirectories(layout.archives());
        Files.write(layout.archive(key), archive);
        return key;
    }

    public static String sha256(byte[] bytes) {
        return Hashing.sha256().hashBytes(bytes).toString();
    }

    public Path install(String directory) {
        return layout.install(ID, directory);
    }

    /** The installations with what is wrong with their files. */
    public ImmutableList<Installation> installations(WorkloadId id) {
        return switch (new InstallationObserver(layout).examined(id)) {
            case Observation.Seen<ImmutableList<Installation>>(ImmutableList<Installation> seen) -> seen;
            case Observation.Unseen<ImmutableList<Installation>>(String why) -> throw new AssertionError(why);
        };
    }

    public Optional<String> active(WorkloadId id) {
        return switch (new InstallationObserver(layout).active(id)) {
            case Observation.Seen<Optional<String>>(Optional<String> seen) -> seen;
            case Observation.Unseen<Optional<String>>(String why) -> throw new AssertionError(why);
        };
    }

    /** Everything below the root but the archives: relative path to kind, mode and content. */
    public SortedMap<String, String> everything() throws IOException {
        return tree(root, layout.archives());
    }

    public static SortedMap<String, String> tree(Path root, Path except) throws IOException {
        SortedMap<String, String> found = new TreeMap<>();
        try (Stream<Path> paths = Files.walk(root)) {
            for (Path path : (Iterable<Path>) paths::iterator) {
                if (!path.equals(root) && !path.startsWith(except)) {
                    found.put(root.relativize(path).toString(), describe(path));
                }
            }
        }
        return found;
    }

    private static String describe(Path path) throws IOException {
        if (Files.isSymbolicLink(path)) {
            return "-> " + Files.readSymbolicLink(path);
        }
        String mode = PosixFilePermissions.toString(Files.getPosixFilePermissions(path, LinkOption.NOFOLLOW_LINKS));
        if (Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)) {
            return mode + " directory";
        }
        return Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS)
                ? mode + " " + sha256(Files.readAllBytes(path)).substring(0, 12)
                : mode + " special";
    }
}
