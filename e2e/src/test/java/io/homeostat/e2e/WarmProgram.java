package io.homeostat.e2e;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The built program once more, in a class loader of its own in this JVM. A process costs half a second of processor time for a question
 * and more than one for an apply. What belongs to the process, such as streams, signals, its exit status and its working directory, is
 * tested with processes.
 */
final class WarmProgram {
    private final ClassLoader classes;
    private final Method run;
    private final Record outside;
    private final Object noInterrupts;
    private final ByteArrayOutputStream logged = new ByteArrayOutputStream();

    /** @param distribution the directory that the build leaves */
    WarmProgram(Path distribution) {
        keepLog();
        try (Stream<Path> libraries = Files.list(distribution.resolve("lib"))) {
            List<URL> jars = new ArrayList<>();
            for (Path jar : libraries.toList()) {
                jars.add(jar.toUri().toURL());
            }
            classes = new URLClassLoader(jars.toArray(URL[]::new), ClassLoader.getPlatformClassLoader());
            Class<?> environment = classes.loadClass("io.homeostat.reconcile.command.environment.Environment");
            run = classes.loadClass("io.homeostat.reconcile.cli.Homeostat")
                    .getDeclaredMethod("run", String[].class, environment);
            run.setAccessible(true);
            Method here =
                    classes.loadClass("io.homeostat.reconcile.cli.ThisProcess").getDeclaredMethod("environment");
            here.setAccessible(true);
            outside = (Record) here.invoke(null);
            noInterrupts = classes.loadClass(environment.getName() + "$Interrupts")
                    .getMethod("none")
                    .invoke(null);
        } catch (IOException e) {
            throw new UncheckedIOException("no program in " + distribution + "; was it built with mvn package?", e);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("the program is begun in another way than here", e);
        }
    }

    /** Whether any command has logged this, or anything else in this JVM: the log goes to standard error, whoever runs the command. */
    boolean hasLogged(String text) {
        return logged.toString(StandardCharsets.UTF_8).contains(text);
    }

    /** What is written to standard error from now on is kept, too. */
    private void keepLog() {
        PrintStream before = System.err;
        System.setErr(new PrintStream(
                new OutputStream() {
                    @Override
                    public void write(int octet) {
                        logged.write(octet);
                        before.write(octet);
                    }

                    @Override
                    public void write(byte[] octets, int from, int length) {
                        logged.write(octets, from, length);
                        before.write(octets, from, length);
                    }
                },
                true,
                StandardCharsets.UTF_8));
    }

    /** Runs a command to its end. */
    Result run(Path directory, List<String> arguments) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        Thread thread = Thread.currentThread();
        ClassLoader ours = thread.getContextClassLoader();
        thread.setContextClassLoader(classes);
        long before = System.nanoTime();
        try {
            Object environment = with(Map.of(
                    "workingDirectory",
                    directory,
                    "interrupts",
                    noInterrupts,
                    "out",
                    new PrintStream(out, false, StandardCharsets.UTF_8),
                    "err",
                    new PrintStream(err, false, StandardCharsets.UTF_8),
                    "outIsTerminal",
                    false,
                    "errIsTerminal",
                    false));
            int exit = (int) run.invoke(null, arguments.toArray(String[]::new), environment);
            return new Result(
                    String.join(" ", arguments) + " (in this JVM)",
                    exit,
                    out.toString(StandardCharsets.UTF_8),
                    err.toString(StandardCharsets.UTF_8),
                    Duration.ofNanos(System.nanoTime() - before));
        } catch (InvocationTargetException e) {
            throw new IllegalStateException(arguments + " failed: " + err.toString(StandardCharsets.UTF_8), e);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        } finally {
            thread.setContextClassLoader(ours);
        }
    }

    /** The environment of this process, but for some components. */
    private Object with(Map<String, Object> others) throws ReflectiveOperationException {
        RecordComponent[] components = outside.getClass().getRecordComponents();
        Class<?>[] types = new Class<?>[components.length];
        Object[] values = new Object[components.length];
        for (int i = 0; i < components.length; i++) {
            types[i] = components[i].getType();
            Object other = others.get(components[i].getName());
            values[i] = other != null ? other : components[i].getAccessor().invoke(outside);
        }
        Constructor<?> constructor = outside.getClass().getDeclaredConstructor(types);
        return constructor.newInstance(values);
    }
}
