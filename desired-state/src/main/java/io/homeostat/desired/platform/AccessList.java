package io.homeostat.desired.platform;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.nio.file.FileSystemException;
import java.nio.file.Path;

/** The access control list of a file, acl(5). Java has no class for it: it sees no attribute that is not one of users. */
public final class AccessList {
    private static final String ATTRIBUTE = "system.posix_acl_access";

    /** What is made in a directory has it. */
    private static final String OF_ENTRIES = "system.posix_acl_default";

    private static final int ENODATA = 61;
    private static final int EOPNOTSUPP = 95;

    private static final VarHandle ERRNO =
            Linker.Option.captureStateLayout().varHandle(MemoryLayout.PathElement.groupElement("errno"));
    private static final MethodHandle LGETXATTR = Linker.nativeLinker()
            .downcallHandle(
                    Linker.nativeLinker().defaultLookup().findOrThrow("lgetxattr"),
                    FunctionDescriptor.of(JAVA_LONG, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG),
                    Linker.Option.captureCallState("errno"));

    private static final MethodHandle REMOVEXATTR = Linker.nativeLinker()
            .downcallHandle(
                    Linker.nativeLinker().defaultLookup().findOrThrow("removexattr"),
                    FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS),
                    Linker.Option.captureCallState("errno"));

    private AccessList() {}

    /** Removes the access list of a file or directory, and the default one for what is made in it. Follows links. */
    public static void remove(Path file) throws IOException {
        for (String attribute : new String[] {ATTRIBUTE, OF_ENTRIES}) {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment state = arena.allocate(Linker.Option.captureStateLayout());
                int result = (int) REMOVEXATTR.invokeExact(
                        state, arena.allocateFrom(file.toString()), arena.allocateFrom(attribute));
                int errno = (int) ERRNO.get(state, 0L);
                if (result != 0 && errno != ENODATA && errno != EOPNOTSUPP) {
                    throw new FileSystemException(
                            file.toString(), null, "its access control list can't be removed (error " + errno + ")");
                }
            } catch (RuntimeException | Error | IOException e) {
                throw e;
            } catch (Throwable e) {
                throw new AssertionError("a foreign function threw what it does not declare", e);
            }
        }
    }

    /** Whether a file has one that says more than its mode, or that can't be found out. */
    static boolean mayExist(Path file) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = arena.allocate(Linker.Option.captureStateLayout());
            long size = (long) LGETXATTR.invokeExact(
                    state, arena.allocateFrom(file.toString()), arena.allocateFrom(ATTRIBUTE), MemorySegment.NULL, 0L);
            int errno = (int) ERRNO.get(state, 0L);
            return size >= 0 || (errno != ENODATA && errno != EOPNOTSUPP);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError("a foreign function threw what it does not declare", e);
        }
    }
}
