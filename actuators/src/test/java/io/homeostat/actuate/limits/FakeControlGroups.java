package io.homeostat.actuate.limits;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Control groups of version 2 in a plain directory, with the kernel's rules: a group has the controllers that the one above passes
 * down, one that passes some down has no processes, and one that is used can't be removed.
 */
final class FakeControlGroups implements ControlFiles {
    final Path root;
    final List<String> written = new ArrayList<>();

    FakeControlGroups(Path root, String controllers) throws IOException {
        this.root = Files.createDirectories(root);
        fill(root, controllers);
    }

    void run(Path group, long pid) throws IOException {
        move(group, pid);
    }

    @Override
    public void makeGroup(Path group) throws IOException {
        if (!Files.isDirectory(group)) {
            Files.createDirectory(group);
            fill(group, read(group.resolveSibling("cgroup.subtree_control")));
        }
    }

    @Override
    public void write(Path file, String text) throws IOException {
        written.add(root.relativize(file) + " " + text);
        Path group = Objects.requireNonNull(file.getParent());
        switch (file.getFileName().toString()) {
            case "cgroup.procs" -> {
                if (!group.equals(root)
                        && !read(group.resolve("cgroup.subtree_control")).isEmpty()) {
                    throw busy(file);
                }
                move(group, Long.parseLong(text));
            }
            case "cgroup.subtree_control" -> {
                if (text.startsWith("+")) {
                    passDown(group, text.substring(1));
                } else {
                    passNoLonger(group, text.substring(1));
                }
            }
            default -> {
                if (!Files.exists(file)) {
                    throw new NoSuchFileException(file.toString());
                }
                Files.writeString(file, text + "\n");
            }
        }
    }

    @Override
    public void removeGroup(Path group) throws IOException {
        if (!Files.isDirectory(group)) {
            return;
        }
        try (Stream<Path> content = Files.list(group)) {
            List<Path> all = content.toList();
            if (all.stream().anyMatch(Files::isDirectory)
                    || !read(group.resolve("cgroup.procs")).isEmpty()) {
                throw busy(group);
            }
            for (Path each : all) {
                Files.delete(each);
            }
        }
        Files.delete(group);
    }

    private void passDown(Path group, String controller) throws IOException {
        Path file = group.resolve("cgroup.subtree_control");
        if (!words(group.resolve("cgroup.controllers")).contains(controller)) {
            throw new NoSuchFileException(file.toString(), null, controller);
        }
        if (!group.equals(root) && !read(group.resolve("cgroup.procs")).isEmpty()) {
            throw busy(file);
        }
        Set<String> enabled = words(file);
        enabled.add(controller);
        Files.writeString(file, String.join(" ", enabled) + "\n");
        try (Stream<Path> below = Files.list(group)) {
            for (Path each : below.filter(Files::isDirectory).toList()) {
                fill(each, read(file));
            }
        }
    }

    private static void passNoLonger(Path group, String controller) throws IOException {
        Path file = group.resolve("cgroup.subtree_control");
        Set<String> enabled = words(file);
        enabled.remove(controller);
        Files.writeString(file, String.join(" ", enabled) + "\n");
    }

    private void move(Path group, long pid) throws IOException {
        String line = pid + "\n";
        try (Stream<Path> all = Files.walk(root)) {
            for (Path each : all.filter(path -> path.endsWith("cgroup.procs")).toList()) {
                Files.writeString(each, Files.readString(each).replace(line, ""));
            }
        }
        Path procs = group.resolve("cgroup.procs");
        Files.writeString(procs, Files.readString(procs) + line);
    }

    private static void fill(Path group, String controllers) throws IOException {
        Files.writeString(group.resolve("cgroup.controllers"), controllers + "\n");
        for (String file : List.of("cgroup.procs", "cgroup.subtree_control")) {
            if (!Files.exists(group.resolve(file))) {
                Files.createFile(group.resolve(file));
            }
        }
        if (controllers.contains("memory")) {
            Files.writeString(group.resolve("memory.max"), "max\n");
        }
        if (controllers.contains("cpuset")) {
            Files.writeString(group.resolve("cpuset.cpus"), "\n");
            Files.writeString(group.resolve("cpuset.cpus.effective"), "0-3\n");
        }
        if (controllers.contains("cpu")) {
            Files.writeString(group.resolve("cpu.max"), "max 100000\n");
        }
    }

    private static Set<String> words(Path file) throws IOException {
        Set<String> words = new TreeSet<>(List.of(read(file).split(" ", -1)));
        words.remove("");
        return words;
    }

    private static String read(Path file) throws IOException {
        return Files.readString(file).strip();
    }

    private static IOException busy(Path file) {
        return new FileSystemException(file.toString(), null, "Device or resource busy");
    }
}
