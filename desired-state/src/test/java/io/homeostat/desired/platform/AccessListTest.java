package io.homeostat.desired.platform;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AccessListTest {
    private static final int VERSION = 2;
    private static final int READ = 4;
    private static final int READ_AND_WRITE = 6;
    private static final int NOBODY = 65534;
    private static final int UNDEFINED = -1;

    @Test
    void aListThatNamesAnotherUserIsSeen(@TempDir Path directory) throws Throwable {
        Path plain = Files.createFile(directory.resolve("plain"));
        Files.setPosixFilePermissions(plain, PosixFilePermissions.fromString("rw-rw-r--"));
        assertFalse(AccessList.mayExist(plain));
        assertTrue(AccessList.mayExist(directory.resolve("gone")));

        Path listed = Files.createFile(directory.resolve("listed"));
        assumeTrue(letNobodyWriteTo(listed), "the file system has no access control lists");
        assertEquals("rw-rw-r--", PosixFilePermissions.toString(Files.getPosixFilePermissions(listed)));
        assertTrue(AccessList.mayExist(listed));

        AccessList.remove(listed);
        assertFalse(AccessList.mayExist(listed));
        AccessList.remove(listed);
    }

    /** As setfacl -m u:nobody:rw does, acl(5): the bits of the group are the mask then. */
    private static boolean letNobodyWriteTo(Path file) throws Throwable {
        ByteBuffer list = ByteBuffer.allocate(Integer.BYTES + 5 * 2 * Integer.BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(VERSION);
        entry(list, 0x01, READ_AND_WRITE, UNDEFINED);
        entry(list, 0x02, READ_AND_WRITE, NOBODY);
        entry(list, 0x04, READ, UNDEFINED);
        entry(list, 0x10, READ_AND_WRITE, UNDEFINED);
        entry(list, 0x20, READ, UNDEFINED);
        MethodHandle setxattr = Linker.nativeLinker()
                .downcallHandle(
                        Linker.nativeLinker().defaultLookup().findOrThrow("setxattr"),
                        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value = arena.allocateFrom(JAVA_BYTE, list.array());
            return (int) setxattr.invokeExact(
                            arena.allocateFrom(file.toString()),
                            arena.allocateFrom("system.posix_acl_access"),
                            value,
                            value.byteSize(),
                            0)
                    == 0;
        }
    }

    private static void entry(ByteBuffer list, int tag, int rights, int id) {
        list.putShort((short) tag).putShort((short) rights).putInt(id);
    }
}
