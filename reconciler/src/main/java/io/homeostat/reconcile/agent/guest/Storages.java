package io.homeostat.reconcile.agent.guest;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.observe.process.SystemCharset;
import io.homeostat.proto.kata.Storage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Mounts what callers want mounted in this machine: what needs no device to be found first. */
final class Storages {
    private static final Logger LOG = LoggerFactory.getLogger(Storages.class);

    /** A directory that is only made. */
    private static final String LOCAL = "local";

    /** The type of file system of each driver, where the caller names none. */
    private static final ImmutableMap<String, String> TYPES = ImmutableMap.of(
            "ephemeral", "tmpfs",
            "virtio-fs", "virtiofs",
            "9p", "9p",
            "overlayfs", "overlay",
            "bind", "none");

    private static final Splitter FIELDS = Splitter.on(' ');
    private static final int POINT = 4;
    private static final Pattern OCTAL = Pattern.compile("\\\\([0-7]{3})");

    private final GuestPaths paths;
    private final Ticker ticker;

    Storages(GuestPaths paths, Ticker ticker) {
        this.paths = paths;
        this.ticker = ticker;
    }

    /** The drivers that there are, as an agent tells them. */
    static ImmutableSet<String> drivers() {
        return ImmutableSet.<String>builder().addAll(TYPES.keySet()).add(LOCAL).build();
    }

    /**
     * Mounts those that are not.
     *
     * @throws IOException when one can't be; those before it are mounted
     */
    void mount(List<Storage> storages) throws IOException, InterruptedException {
        for (Storage one : storages) {
            if (!drivers().contains(one.getDriver())) {
                throw Refusals.unsupported("storages of driver '" + one.getDriver() + "' are not supported; these are: "
                        + String.join(", ", drivers()));
            }
            if (!one.getMountPoint().startsWith("/")) {
                throw Refusals.internal("the mount point '" + one.getMountPoint() + "' is no absolute path");
            }
        }
        for (Storage one : storages) {
            Path point = paths.real(one.getMountPoint());
            Files.createDirectories(point);
            if (!one.getDriver().equals(LOCAL) && !isMounted(point)) {
                mount(one, point);
            }
        }
    }

    private void mount(Storage storage, Path point) throws IOException, InterruptedException {
        boolean isBind = storage.getDriver().equals("bind");
        List<String> options = new ArrayList<>(storage.getOptionsList());
        if (isBind && !options.contains("rbind")) {
            options.add("bind");
        }
        String type = storage.getFstype().isEmpty() || isBind
                ? String.valueOf(TYPES.get(storage.getDriver()))
                : storage.getFstype();
        String source = storage.getSource().startsWith("/")
                ? paths.real(storage.getSource()).toString()
                : storage.getSource();
        Tools.run(
                ticker,
                "mount",
                "-t",
                type,
                "-o",
                options.isEmpty() ? "defaults" : String.join(",", options),
                "--",
                source.isEmpty() ? type : source,
                point.toString());
    }

    /** Binds a file over another one. */
    void bind(Path file, Path over) throws IOException, InterruptedException {
        Tools.run(ticker, "mount", "--bind", "--", file.toString(), over.toString());
    }

    /** What can't be unmounted now is as soon as nobody uses it. */
    void unmount(List<Storage> storages) throws InterruptedException {
        for (Storage one : storages.reversed()) {
            unmount(paths.real(one.getMountPoint()));
        }
    }

    /** All that is mounted there, if anything is. */
    void unmount(Path point) throws InterruptedException {
        try {
            while (isMounted(point)) {
                Tools.run(ticker, "umount", "--lazy", "--", point.toString());
            }
        } catch (IOException e) {
            LOG.warn("{} is not unmounted: {}", point, e.getMessage());
        }
    }

    /** Whatever is mounted in a directory, by whomever. */
    void unmountBelow(Path directory) throws IOException, InterruptedException {
        for (Path point : mounted().reversed()) {
            if (point.startsWith(directory)) {
                unmount(point);
            }
        }
    }

    private static boolean isMounted(Path point) throws IOException {
        return mounted().contains(point);
    }

    /** In the order in which it was mounted: proc_pid_mountinfo(5), where blanks are written as octal numbers. */
    private static ImmutableList<Path> mounted() throws IOException {
        return new String(Files.readAllBytes(Path.of("/proc/self/mountinfo")), SystemCharset.get())
                .lines()
                .map(line -> FIELDS.limit(POINT + 2).splitToList(line).get(POINT))
                .map(point -> Path.of(OCTAL.matcher(point)
                        .replaceAll(match ->
                                Matcher.quoteReplacement(Character.toString(Integer.parseInt(match.group(1), 8))))))
                .collect(ImmutableList.toImmutableList());
    }
}
