package io.homeostat.actuate.launch;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.homeostat.actuate.Machine;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.observe.install.Installation;
import io.homeostat.observe.install.InstallationMarker;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/**
 * A state directory as bad as chance makes it: workloads whose names are beginnings of each other's, and beside their
 * installations whatever looks like one and is none.
 */
final class HostileDirectory {
    private static final List<String> NAMES = List.of("a", "a_b", "a_b_c", "ab", "a-b", "a.b", "A", "a_1", "a_1_2");
    private static final List<String> REVISIONS = List.of("1", "2", "b", "b_c", "1_2", "_", "c", ".", "1.sock");
    private static final String KEY = "a".repeat(64);

    private final Machine machine;
    private final Random dice;
    private final Map<WorkloadId, List<String>> installed = new TreeMap<>();
    private final Map<WorkloadId, String> active = new LinkedHashMap<>();

    HostileDirectory(Machine machine, Random dice) throws IOException {
        this.machine = machine;
        this.dice = dice;
        Path outside = Files.createDirectories(machine.root().resolve("outside/precious"));
        Files.writeString(outside.resolve("file"), "precious");
        for (Kind kind : Kind.all()) {
            Files.createDirectories(layout().installs(kind));
            for (String name : NAMES) {
                if (dice.nextInt(3) > 0) {
                    workload(new WorkloadId(kind, name));
                }
            }
            for (int i = 0; i < 25; i++) {
                strange(layout().installs(kind).resolve(strangeName()));
                strange(layout().launches(kind).resolve(one(NAMES)).resolve(strangeName()));
                strange(layout().stagings(kind).resolve("." + strangeName()));
            }
        }
    }

    List<WorkloadId> workloads() {
        return List.copyOf(installed.keySet());
    }

    /** Names of the directories that a workload is really installed in. */
    List<String> installed(WorkloadId id) {
        return installed.getOrDefault(id, List.of());
    }

    /** Those of them that its symlink does not point to. */
    List<String> superseded(WorkloadId id) {
        return installed(id).stream()
                .filter(directory -> !directory.equals(active.get(id)))
                .toList();
    }

    /** Something that may be there or not, to be taken for an installation. */
    String strangeName() {
        String name = one(NAMES);
        return switch (dice.nextInt(7)) {
            case 0 -> name + "_";
            case 1 -> "_" + one(REVISIONS);
            case 2 -> name + "_" + one(REVISIONS) + "_" + one(REVISIONS);
            case 3 -> name + "_" + one(REVISIONS) + "~0123456789abcdef";
            case 4 -> name + "~";
            case 5 -> name;
            default -> name + "_" + one(REVISIONS);
        };
    }

    private void workload(WorkloadId id) throws IOException {
        List<String> directories = new ArrayList<>();
        for (int i = dice.nextInt(4); i >= 0; i--) {
            String revision = one(REVISIONS);
            String directory = Layout.installName(id, revision, dice.nextBoolean() ? null : "other" + i);
            Path place = layout().install(id, directory);
            if (!directories.contains(directory) && Files.notExists(place)) {
                install(id, revision, place);
                directories.add(directory);
            }
        }
        installed.put(id, directories);
        if (!directories.isEmpty() && Files.notExists(layout().active(id))) {
            active.put(id, one(directories));
            Files.createSymbolicLink(layout().active(id), Path.of(active.get(id)));
        }
        Files.createDirectories(layout().workloadState(id));
        Files.writeString(layout().log(id), id + " was here");
        Files.createDirectories(layout().launch(id, "launch-1"));
        Files.writeString(layout().launch(id, "launch-1").resolve("claim"), "");
        if (dice.nextBoolean()) {
            Path half = Files.createDirectories(layout().staging(id).resolve("trash-" + one(REVISIONS)));
            Files.writeString(half.resolve("half"), "half");
            Files.createSymbolicLink(half.resolve("out"), machine.root().resolve("outside/precious"));
        }
    }

    private static void install(WorkloadId id, String revision, Path place) throws IOException {
        Files.createDirectories(place.resolve("bin"));
        Files.writeString(place.resolve("bin/program"), id + " " + revision);
        Files.createSymbolicLink(place.resolve("up"), Path.of("../.."));
        mark(id, revision, place, place.getFileName().toString());
    }

    private static void mark(WorkloadId id, String revision, Path place, String directory) throws IOException {
        Files.write(
                place.resolve(InstallationMarker.FILE),
                new InstallationMarker(id, new Installation(directory, revision, KEY, KEY), "").toJson());
    }

    /** Something of nobody's, with a name as if it were somebody's. */
    private void strange(Path place) throws IOException {
        Files.createDirectories(place.getParent());
        Path outside = machine.root().resolve("outside/precious");
        try {
            switch (dice.nextInt(9)) {
                case 0 -> Files.writeString(place, "a file", UTF_8, StandardOpenOption.CREATE_NEW);
                case 1 -> Files.createSymbolicLink(place, outside);
                case 2 -> Files.createSymbolicLink(place, place.getFileName());
                case 3 -> Files.createSymbolicLink(place, Path.of("nowhere"));
                case 4 -> Files.writeString(Files.createDirectory(place).resolve("file"), "unmarked");
                case 5 -> mark(id(), "9", Files.createDirectory(place), "another_directory");
                case 6 -> Files.createDirectory(Files.createDirectory(place).resolve(InstallationMarker.FILE));
                case 7 ->
                    Files.createSymbolicLink(
                            Files.createDirectory(place).resolve(InstallationMarker.FILE), outside.resolve("file"));
                default ->
                    Files.writeString(
                            Files.createDirectory(place).resolve(InstallationMarker.FILE), "{\"formatVersion\":\"1\"");
            }
        } catch (FileAlreadyExistsException e) {
            // Somebody's already.
            return;
        }
    }

    private WorkloadId id() {
        return new WorkloadId(Kind.PLUGIN, one(NAMES));
    }

    private <T> T one(List<T> all) {
        return all.get(dice.nextInt(all.size()));
    }

    private Layout layout() {
        return machine.layout();
    }
}
