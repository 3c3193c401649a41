package io.homeostat.desired.platform;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.nio.file.Path;

/** The access control list of a file, acl(5). Java has no class for it: it sees no attribute that is not one of users. */
final class AccessList {
    private static final String ATTRIBUTE = "system.posix_acl_access";

    private static final int ENODATA = 61;
    private static final int EOPNOTSUPP = 95;

    private static final VarHandle ERRNO =
            Linker.Option.captureStateLayout().varHandle(MemoryLayout.PathElement.groupElement("errno"));
    private static final MethodHandle LGETXATTR = Linker.nativeLinker()
            .downcallHandle(
                    Linker.nativeLinker().defaultLookup().findOrThrow("lgetxattr"),
                    FunctionDescriptor.of(JAVA_LONG, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG),
                    Linker.Option.captureCallState("errno"));

    private AccessList() {}

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
