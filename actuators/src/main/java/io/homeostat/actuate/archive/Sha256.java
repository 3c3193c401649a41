package io.homeostat.actuate.archive;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import com.google.common.io.BaseEncoding;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.NoSuchElementException;
import java.util.Optional;

/** Computes SHA-256 hashes, one after the other. Has to be closed, whether or not the last one was finished. */
public interface Sha256 extends AutoCloseable {
    void update(byte[] bytes, int length);

    /** The hash of everything since the previous one, in lower-case hexadecimal; starts the next one. */
    String finish();

    @Override
    void close();

    /**
     * The machine's own implementation where there is one. The JDK's is fast only with its optimising compiler; with our launcher's flags
     * it hashes 140 MB/s, a tenth, which would take longer than the rest of a download.
     */
    static Sha256 start() {
        return OpenSslSha256.start().orElseGet(Sha256::ofJdk);
    }

    static Sha256 ofJdk() {
        MessageDigest digest;
        try {
            digest = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256, this one does not", e);
        }
        return new Sha256() {
            @Override
            public void update(byte[] bytes, int length) {
                digest.update(bytes, 0, length);
            }

            @Override
            public String finish() {
                return BaseEncoding.base16().lowerCase().encode(digest.digest());
            }

            @Override
            public void close() {}
        };
    }

    /** SHA-256 by the machine's OpenSSL 3 (EVP_DigestInit(3)), which nearly every Linux has. Used by one thread. */
    static final class OpenSslSha256 implements Sha256 {
        private static final String LIBRARY = "libcrypto.so.3";
        private static final int DIGEST_BYTES = 32;

        private final MethodHandle init;
        private final MemorySegment algorithm;
        private final MethodHandle update;
        private final MethodHandle digestFinal;
        private final MethodHandle free;
        private final MemorySegment context;

        private OpenSslSha256(SymbolLookup library) throws Throwable {
            Linker linker = Linker.nativeLinker();
            // A critical call reads the Java array in place; it is short enough for garbage collection to wait.
            update = linker.downcallHandle(
                    library.findOrThrow("EVP_DigestUpdate"),
                    FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG),
                    Linker.Option.critical(true));
            FunctionDescriptor threePointers = FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS);
            digestFinal = linker.downcallHandle(library.findOrThrow("EVP_DigestFinal_ex"), threePointers);
            free = linker.downcallHandle(library.findOrThrow("EVP_MD_CTX_free"), FunctionDescriptor.ofVoid(ADDRESS));
            MethodHandle create =
                    linker.downcallHandle(library.findOrThrow("EVP_MD_CTX_new"), FunctionDescriptor.of(ADDRESS));
            MethodHandle sha256 =
                    linker.downcallHandle(library.findOrThrow("EVP_sha256"), FunctionDescriptor.of(ADDRESS));
            init = linker.downcallHandle(library.findOrThrow("EVP_DigestInit_ex"), threePointers);
            context = (MemorySegment) create.invokeExact();
            algorithm = (MemorySegment) sha256.invokeExact();
            begin();
        }

        private void begin() throws Throwable {
            check((int) init.invokeExact(context, algorithm, MemorySegment.NULL));
        }

        /** Empty when the machine has no such library, or the library refuses. */
        static Optional<Sha256> start() {
            return start(LIBRARY);
        }

        static Optional<Sha256> start(String library) {
            try {
                // Never unloaded: OpenSSL has work to do at exit.
                return Optional.of(new OpenSslSha256(SymbolLookup.libraryLookup(library, Arena.global())));
            } catch (IllegalArgumentException | IllegalStateException | NoSuchElementException e) {
                return Optional.empty();
            } catch (Throwable e) {
                throw undeclared(e);
            }
        }

        @Override
        public void update(byte[] bytes, int length) {
            try {
                check((int) update.invokeExact(context, MemorySegment.ofArray(bytes), (long) length));
            } catch (Throwable e) {
                throw undeclared(e);
            }
        }

        @Override
        public String finish() {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment digest = arena.allocate(DIGEST_BYTES);
                check((int) digestFinal.invokeExact(context, digest, MemorySegment.NULL));
                begin();
                return BaseEncoding.base16().lowerCase().encode(digest.toArray(JAVA_BYTE));
            } catch (Throwable e) {
                throw undeclared(e);
            }
        }

        @Override
        public void close() {
            try {
                free.invokeExact(context);
            } catch (Throwable e) {
                throw undeclared(e);
            }
        }

        private static void check(int result) {
            if (result != 1) {
                throw new IllegalStateException("OpenSSL failed to compute a SHA-256");
            }
        }

        private static RuntimeException undeclared(Throwable e) {
            return e instanceof RuntimeException failure
                    ? failure
                    : new IllegalStateException("a foreign function threw what it does not declare", e);
        }
    }
}
