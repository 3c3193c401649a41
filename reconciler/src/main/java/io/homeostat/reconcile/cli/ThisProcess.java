package io.homeostat.reconcile.cli;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableMap;
import io.homeostat.observe.process.Libc;
import io.homeostat.observe.process.TerminalMode;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.DocumentFormat;
import io.homeostat.reconcile.command.environment.Environment;
import io.homeostat.reconcile.command.environment.Environment.Interrupts;
import io.homeostat.reconcile.command.environment.Terminal;
import io.homeostat.reconcile.command.output.StandardOutput;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.ZoneOffset;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/** What this process was started with: its variables, streams, user and signals. */
final class ThisProcess {
    private ThisProcess() {}

    static Environment environment() {
        return new Environment(
                ImmutableMap.copyOf(System.getenv()),
                Path.of("").toAbsolutePath(),
                ownUid(),
                new StandardInput(System.in),
                new StandardOutput(new FileOutputStream(FileDescriptor.out)),
                new StandardOutput(new FileOutputStream(FileDescriptor.err)),
                isTerminal(1),
                isTerminal(2),
                Clock.tickMillis(ZoneOffset.UTC),
                Ticker.systemTicker(),
                DocumentFormat.STANDARD,
                new Signals(),
                new StandardInputTerminal());
    }

    /** One that is closed has been opened for writing only by the start script: then nothing else has its number. */
    private static final class StandardInput extends FilterInputStream {
        StandardInput(InputStream in) {
            super(in);
        }

        @Override
        public int read(byte[] into, int from, int length) throws IOException {
            try {
                return super.read(into, from, length);
            } catch (IOException e) {
                throw isClosed() ? new IOException("standard input is closed") : e;
            }
        }

        private static boolean isClosed() throws IOException {
            return Files.readString(Path.of("/proc/self/fdinfo/0"), StandardCharsets.UTF_8)
                    .lines()
                    .anyMatch(line -> line.startsWith("flags:") && line.endsWith("1"));
        }
    }

    private static long ownUid() {
        try {
            return ((Number) Files.getAttribute(Path.of("/proc/self"), "unix:uid")).longValue();
        } catch (IOException e) {
            throw new UncheckedIOException("/proc is not mounted, and nothing can be observed without it", e);
        }
    }

    /** Java knows only whether both ends of the console are terminals. */
    private static boolean isTerminal(int descriptor) {
        try {
            String file = Files.readSymbolicLink(Path.of("/proc/self/fd/" + descriptor))
                    .toString();
            return file.startsWith("/dev/pts/") || file.startsWith("/dev/tty") || file.equals("/dev/console");
        } catch (IOException e) {
            return false;
        }
    }

    private static final class StandardInputTerminal implements Terminal {
        private static final int DESCRIPTOR = 0;

        @Override
        public boolean isInput() {
            return isTerminal(DESCRIPTOR);
        }

        @Override
        public Interrupts.Guard raw() {
            TerminalMode mode;
            try {
                mode = TerminalMode.raw(DESCRIPTOR);
            } catch (IOException e) {
                throw new CommandFailure("standard input: " + e.getMessage(), e);
            }
            // However long it takes to put the rest in order.
            Thread restoring = new Thread(mode::close, "restore-terminal");
            try {
                Runtime.getRuntime().addShutdownHook(restoring);
            } catch (IllegalStateException e) {
                mode.close();
                throw new CommandFailure("interrupted before it began", e);
            }
            return mode::close;
        }

        @Override
        public Optional<TerminalMode.Size> size() {
            return TerminalMode.size(DESCRIPTOR);
        }

        @Override
        public Interrupts.Guard onResize(Runnable changed) {
            AtomicBoolean over = new AtomicBoolean();
            Signals.instance("WINCH", () -> {
                if (!over.get()) {
                    changed.run();
                }
            });
            return () -> over.set(true);
        }
    }

    private static final class Signals implements Interrupts {
        private static final int SIGHUP = 1;

        @Override
        public Guard guard() {
            Thread worker = Thread.currentThread();
            CountDownLatch closed = new CountDownLatch(1);
            AtomicBoolean over = new AtomicBoolean();
            // The JVM ends with 130 or 143 when its hooks are through.
            Thread hook = new Thread(
                    () -> {
                        if (!over.get()) {
                            worker.interrupt();
                            awaitQuietly(closed);
                        }
                    },
                    "interrupt");
            Runtime.getRuntime().addShutdownHook(hook);
            return () -> {
                over.set(true);
                closed.countDown();
            };
        }

        @Override
        public Guard daemon(Runnable onHangUp) {
            Thread worker = Thread.currentThread();
            AtomicBoolean over = new AtomicBoolean();
            Runnable end = () -> {
                if (!over.get()) {
                    worker.interrupt();
                }
            };
            instance("TERM", end);
            instance("INT", end);
            boolean _ = ofLeases(end);
            // The JVM handles no signal that it inherited as ignored, as after nohup: the agent would never reload.
            int _ = Libc.restoreDefaultAction(SIGHUP);
            instance("HUP", () -> {
                if (!over.get()) {
                    onHangUp.run();
                }
            });
            return () -> over.set(true);
        }

        @Override
        public boolean ofLeases(Runnable onAwaited) {
            instance("IO", onAwaited);
            return true;
        }

        @Override
        public void ignoreInterrupt() {
            instance("INT", () -> {});
        }

        /** By reflection: the compiler's warning of sun.misc.Signal can't be suppressed, and there is no other way to hear of SIGHUP. */
        private static void instance(String name, Runnable action) {
            try {
                Class<?> signal = Class.forName("sun.misc.Signal");
                Class<?> handler = Class.forName("sun.misc.SignalHandler");
                InvocationHandler call = (proxy, method, arguments) -> {
                    if (method.getName().equals("handle")) {
                        action.run();
                    }
                    return null;
                };
                Object proxy = Proxy.newProxyInstance(handler.getClassLoader(), new Class<?>[] {handler}, call);
                signal.getMethod("handle", signal, handler)
                        .invoke(null, signal.getConstructor(String.class).newInstance(name), proxy);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException("this JVM can't instance the signal " + name, e);
            }
        }

        private static void awaitQuietly(CountDownLatch latch) {
            try {
                if (!latch.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                    System.err.println("homeostat: interrupted, and what was under way did not end within "
                            + PATIENCE.toSeconds() + " s; the next command continues from what is there");
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
