package io.homeostat.actuate.task;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.FailingDisk;
import io.homeostat.actuate.HostileTree;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.Mounts;
import io.homeostat.actuate.QuickDisk;
import io.homeostat.observe.process.Account;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a task sees that has its directory as its root, and one to which it is revealed. */
class ChrootTest {
    @TempDir
    Path temp;

    private Path system = Path.of("");
    private TaskPlace place = new TaskPlace(Path.of("/unused"), "web");
    private TaskDirectories directories = new TaskDirectories(Path.of(""), new LocalDisk(), new Mounts(), Path.of("/"));

    @BeforeEach
    void makeSystem() throws Exception {
        place = new TaskPlace(temp.resolve(UUID.randomUUID().toString()), "web");
        system = Files.createDirectory(temp.resolve("system"));
        write("usr/bin/tool", "tool", 0755);
        write("usr/bin/become", "setuid", 04755);
        write("etc/passwd", "root", 0644);
        write("etc/shadow", "secret", 0600);
        write("run/resolvconf/resolv.conf", "nameserver", 0644);
        write("usr/lib32/lib.so", "so", 0644);
        Files.createSymbolicLink(system.resolve("bin"), Path.of("usr/bin"));
        Files.createSymbolicLink(system.resolve("lib32"), Path.of("/somewhere/else"));
        Files.createSymbolicLink(system.resolve("etc/alternative"), Path.of("/usr/bin/tool"));
        directories = new TaskDirectories(temp, new LocalDisk(), new Mounts(), system);

        Path probe = Files.createDirectory(temp.resolve("probe"));
        assumeTrue(Account.ourUid() == 0, "only root makes a chroot");
        assumeTrue(new Mounts().memory(probe).isEmpty(), "nothing can be mounted here");
        new Mounts().clear(probe);
    }

    @AfterEach
    void leaveNothing() throws Exception {
        new TaskDirectories(temp, new LocalDisk(), new Mounts(), system).remove(place.root());
    }

    @Test
    void itHasTheSystemsFilesAndItsLinks() throws Exception {
        directories.prepare(place, Isolation.CHROOT, null, null);

        assertEquals(inode(system.resolve("usr/bin/tool")), inode(inside("usr/bin/tool")), "a link, no copy");
        assertEquals(Path.of("usr/bin"), Files.readSymbolicLink(inside("bin")));
        assertEquals(Path.of("/usr/bin/tool"), Files.readSymbolicLink(inside("etc/alternative")));
        assertEquals("nameserver", Files.readString(inside("run/resolvconf/resolv.conf")));
        assertFalse(Files.exists(inside("lib32"), LinkOption.NOFOLLOW_LINKS), "there is nothing behind it");
        assertFalse(Files.exists(inside("sbin"), LinkOption.NOFOLLOW_LINKS), "this system has none");
    }

    @Test
    void whatIsSetuidOrConfigurationIsACopyWithoutPrivileges() throws Exception {
        directories.prepare(place, Isolation.CHROOT, null, null);

        assertNotEquals(inode(system.resolve("usr/bin/become")), inode(inside("usr/bin/become")));
        assertEquals("755", mode(inside("usr/bin/become")));
        assertEquals("4755", mode(system.resolve("usr/bin/become")));
        assertNotEquals(inode(system.resolve("etc/passwd")), inode(inside("etc/passwd")));
        assertEquals("600", mode(inside("etc/shadow")));
    }

    @Test
    void itIsMadeOnceAndAgainWhenItIsNotComplete() throws Exception {
        directories.prepare(place, Isolation.CHROOT, null, null);
        Files.writeString(inside("usr/mine"), "kept");
        directories.prepare(place, Isolation.CHROOT, null, null);
        assertEquals("kept", Files.readString(inside("usr/mine")));
        assertEquals(3, new Mounts().below(place.root()).size());

        HostileTree.delete(inside("etc"));
        directories.prepare(place, Isolation.CHROOT, null, null);
        assertEquals("root", Files.readString(inside("etc/passwd")));
        assertFalse(Files.exists(inside("usr/mine")));
        assertTrue(Files.exists(system.resolve("usr/bin/tool")));
    }

    @Test
    void whatWasInterruptedIsDoneAgain() throws Exception {
        boolean failed = true;
        directories = new TaskDirectories(temp, new QuickDisk(), new Mounts(), system);
        for (int step = 1; failed; step++) {
            FailingDisk failing = new FailingDisk(step, step % 2 == 0, new QuickDisk());
            try {
                new TaskDirectories(temp, failing, new Mounts(), system).prepare(place, Isolation.CHROOT, null, null);
            } catch (FailingDisk.Crash e) {
                assertTrue(failing.hasFailed());
            }
            failed = failing.hasFailed();
            directories.prepare(place, Isolation.CHROOT, null, null);
            for (String file : List.of("usr/bin/tool", "etc/passwd", "run/resolvconf/resolv.conf")) {
                assertTrue(Files.exists(inside(file)), "step " + step + ": " + file);
            }
            directories.remove(place.root());
            assertEquals("tool", Files.readString(system.resolve("usr/bin/tool")), "step " + step);
        }
    }

    @Test
    void theSharedDirectoryIsInsideAndRemovingLeavesNothingMounted() throws Exception {
        directories.prepare(place, Isolation.CHROOT, null, null);
        Files.writeString(place.shared().resolve("data/file"), "shared");
        assertEquals("shared", Files.readString(inside("alloc/data/file")));

        directories.remove(place.root());
        assertFalse(Files.exists(place.root()));
        assertEquals(List.of(), new Mounts().below(temp));
    }

    @Test
    void aLinkInThePlaceOfAPartOfItIsReplaced() throws Exception {
        directories.prepare(place, Isolation.NONE, null, null);
        Path victim = Files.createDirectory(temp.resolve("victim"));
        for (String name : List.of("usr", "etc", "run", "bin", "alloc")) {
            Files.createSymbolicLink(inside(name), victim);
        }
        directories.prepare(place, Isolation.CHROOT, null, null);
        assertEquals("tool", Files.readString(inside("usr/bin/tool")));
        try (var entries = Files.list(victim)) {
            assertEquals(0, entries.count());
        }
    }

    @Test
    void whatIsRevealedIsTheTaskWithWhatIsShared() throws Exception {
        directories.prepare(place, Isolation.UNVEIL, null, null);
        directories.prepare(place, Isolation.UNVEIL, null, null);
        Files.writeString(place.local().resolve("file"), "mine");
        Files.writeString(place.secrets().resolve("token"), "secret");
        Files.writeString(place.shared().resolve("data/file"), "shared");

        Path seen = place.unveiled();
        assertEquals("mine", Files.readString(seen.resolve("local/file")));
        assertEquals("secret", Files.readString(seen.resolve("secrets/token")));
        assertEquals("shared", Files.readString(seen.resolve("alloc/data/file")));
        assertEquals("700", mode(place.root()), "what is revealed has opened nothing else");
        directories.remove(place.root());
        assertFalse(Files.exists(place.root()));
    }

    @Test
    void whereNothingCanBeMountedThereIsNoChroot() throws Exception {
        TaskDirectories helpless =
                new TaskDirectories(temp, new LocalDisk(), new Mounts(Path.of("/dev/null"), new Forbidden()), system);
        ActuationFailure failure =
                assertThrows(ActuationFailure.class, () -> helpless.prepare(place, Isolation.CHROOT, null, null));
        assertTrue(String.valueOf(failure.getMessage()).contains(inside("alloc").toString()), failure.getMessage());
    }

    private Path inside(String name) {
        return place.directory().resolve(name);
    }

    private void write(String name, String content, int mode) throws IOException {
        Path file = system.resolve(name);
        Files.createDirectories(
                file.getParent(), PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwxr-xr-x")));
        Files.writeString(file, content);
        Files.setAttribute(file, "unix:mode", mode);
    }

    private static Object inode(Path file) throws IOException {
        return Files.getAttribute(file, "unix:ino");
    }

    private static String mode(Path path) throws IOException {
        return Integer.toOctalString((int) Files.getAttribute(path, "unix:mode", LinkOption.NOFOLLOW_LINKS) & 07777);
    }
}
