package io.homeostat.actuate.install;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.Machine;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.install.Installation;
import io.homeostat.observe.install.InstallationMarker;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A power cut in the middle of a removal leaves either the whole of an installation or nothing of it, and what was to stay. */
final class DurableRemovalTest {
    private static final WorkloadId ID = Machine.ID;
    private static final String KEY = "a".repeat(64);
    private static final ImmutableSet<String> TOLD = ImmutableSet.of("rename", "deleteTree", "syncDirectory");

    @TempDir
    private Path temp;

    private Machine machine;
    /** What was done to the disk, in order: the verb and the last part of the path it was done to. */
    private final List<String> done = new ArrayList<>();

    @BeforeEach
    void setUp() throws Exception {
        machine = Machine.in(temp);
        for (String revision : List.of("1", "2")) {
            String directory = "greeter_" + revision;
            Path place = Files.createDirectories(machine.install(directory));
            Files.write(
                    place.resolve(InstallationMarker.FILE),
                    new InstallationMarker(ID, new Installation(directory, revision, KEY, KEY), "").toJson());
        }
        new Activator(machine.layout()).activate(ID, "greeter_2");
    }

    @Test
    void whatStaysIsDurableBeforeAnythingGoes() throws Exception {
        new GarbageCollector(machine.layout(), recording()).collect(ID, ImmutableList.of("greeter_1"));

        assertEquals("syncDirectory plugins", done.getFirst());
        assertEquals(1, machine.installations(ID).size());
    }

    @Test
    void nothingOfAnInstallationIsDeletedBeforeItsDisappearanceIsDurable() throws Exception {
        new GarbageCollector(machine.layout(), recording()).collect(ID, ImmutableList.of("greeter_1"));

        int disappears = done.indexOf("rename greeter_1");
        assertTrue(disappears > 0, done::toString);
        assertEquals(
                List.of("syncDirectory plugins", "deleteTree greeter"), done.subList(disappears + 1, disappears + 3));
    }

    @Test
    void collectingWhereThereIsNothingDoesNothing() throws Exception {
        new GarbageCollector(machine.layout()).collect(WorkloadId.process("other"), ImmutableList.of("other_1"));

        assertEquals(2, machine.installations(ID).size());
    }

    private Disk recording() {
        Disk disk = new LocalDisk();
        return (Disk) Proxy.newProxyInstance(
                Disk.class.getClassLoader(), new Class<?>[] {Disk.class}, (proxy, method, arguments) -> {
                    if (TOLD.contains(method.getName())) {
                        Path path = (Path) Objects.requireNonNull(arguments[0]);
                        done.add(method.getName() + " " + path.getFileName());
                    }
                    try {
                        return method.invoke(disk, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }
}
