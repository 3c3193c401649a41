package io.homeostat.e2e;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.lang.reflect.RecordComponent;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * The classes of the built program in a class loader of their own in this JVM. The log and all static state are separate from those of
 * every other instance; the libraries that have no such state are shared.
 */
final class ProgramClasses {
    /** Prefixes of the files that are the program, its log, and libraries that write to it. All other libraries are shared. */
    private static final List<String> SEPARATE =
            List.of("homeostat", "logback-", "slf4j-", "org.eclipse.jgit-", "cron-utils-");

    /** Of jetcd and Vert.x, too, which gRPC has to see as it sees its own classes; what they log is dropped. */
    private static final String LOGGING_API = "slf4j-";

    private static final String LOGGING_PACKAGE = "org.slf4j.";

    /** Generated code; it logs nothing. */
    private static final String PROTO = "homeostat-proto-";

    private final ClassLoader loader;
    private final Class<?> interrupts;
    private final Class<?> guard;
    private final Method run;
    private final Record outside;

    /**
     * @param distribution the directory that the build leaves
     * @param libraries the loader of {@link #libraries}
     */
    ProgramClasses(Path distribution, ClassLoader libraries) {
        loader = new Loader(jars(distribution, ProgramClasses::isSeparate), libraries);
        try {
            Class<?> environment = loader.loadClass("io.homeostat.reconcile.command.environment.Environment");
            interrupts = loader.loadClass(environment.getName() + "$Interrupts");
            guard = loader.loadClass(interrupts.getName() + "$Guard");
            run = loader.loadClass("io.homeostat.reconcile.cli.Homeostat")
                    .getDeclaredMethod("run", String[].class, environment);
            run.setAccessible(true);
            Method here =
                    loader.loadClass("io.homeostat.reconcile.cli.ThisProcess").getDeclaredMethod("environment");
            here.setAccessible(true);
            outside = (Record) here.invoke(null);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("the program is started in another way than here", e);
        }
    }

    /** Returns a loader of the libraries that all instances share. The native part of SQLite must exist once, or its locks fail. */
    static ClassLoader libraries(Path distribution) {
        return new URLClassLoader(
                jars(distribution, jar -> !isSeparate(jar) || jar.startsWith(LOGGING_API)),
                ClassLoader.getPlatformClassLoader());
    }

    private static boolean isSeparate(String jar) {
        return !jar.startsWith(PROTO) && SEPARATE.stream().anyMatch(jar::startsWith);
    }

    private static URL[] jars(Path distribution, Predicate<String> wanted) {
        try (Stream<Path> files = Files.list(distribution.resolve("lib"))) {
            List<URL> jars = new ArrayList<>();
            for (Path jar : files.sorted().toList()) {
                if (wanted.test(jar.getFileName().toString())) {
                    jars.add(jar.toUri().toURL());
                }
            }
            return jars.toArray(URL[]::new);
        } catch (IOException e) {
            throw new UncheckedIOException("no program in " + distribution + "; was it built with mvn package?", e);
        }
    }

    /** Whether this loader, and no other, has loaded the class of an object. */
    boolean isOf(Object object) {
        return loader.equals(object.getClass().getClassLoader());
    }

    /** Whether a thread was started by code that ran in {@link #run}. */
    boolean isOf(Thread thread) {
        return loader.equals(thread.getContextClassLoader());
    }

    /**
     * Runs a command to its end in the calling thread; returns its exit status.
     *
     * @param others components of the environment that are not those of this process
     */
    int run(List<String> arguments, Map<String, Object> others) {
        Thread thread = Thread.currentThread();
        ClassLoader ours = thread.getContextClassLoader();
        thread.setContextClassLoader(loader);
        try {
            return (int) run.invoke(null, arguments.toArray(String[]::new), environment(others));
        } catch (InvocationTargetException e) {
            throw new IllegalStateException(arguments + " failed: " + e.getCause(), e);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        } finally {
            thread.setContextClassLoader(ours);
        }
    }

    private Object environment(Map<String, Object> others) throws ReflectiveOperationException {
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

    /** Returns a map of variables as the environment has it. */
    Object variables(Map<String, String> variables) {
        try {
            return loader.loadClass("com.google.common.collect.ImmutableMap")
                    .getMethod("copyOf", Map.class)
                    .invoke(null, variables);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Returns interrupts that never happen. */
    Object noInterrupts() {
        return interrupts(new Signals() {
            @Override
            public void awaited(Thread worker, Runnable onHangUp) {}

            @Override
            public void over() {}
        });
    }

    /** Returns interrupts that are sent by whoever is told who waits for them. */
    Object interrupts(Signals signals) {
        InvocationHandler guarded = (proxy, method, arguments) -> {
            if (method.getName().equals("close")) {
                signals.over();
            }
            return null;
        };
        return Proxy.newProxyInstance(loader, new Class<?>[] {interrupts}, (proxy, method, arguments) -> {
            if (method.getName().equals("daemon")) {
                signals.awaited(Thread.currentThread(), (Runnable) arguments[0]);
                return Proxy.newProxyInstance(loader, new Class<?>[] {guard}, guarded);
            }
            if (method.getName().equals("guard")) {
                return Proxy.newProxyInstance(loader, new Class<?>[] {guard}, (other, closes, none) -> null);
            }
            return method.getReturnType() == boolean.class ? false : null;
        });
    }

    /** The signals of a command that runs until it gets one. */
    interface Signals {
        /**
         * Called when the command begins to wait for signals.
         *
         * @param worker interrupted by SIGTERM
         * @param onHangUp called for SIGHUP
         */
        void awaited(Thread worker, Runnable onHangUp);

        /** Called when a signal has no effect any more. */
        void over();
    }

    /** Takes everything from its parent that is there but the logging API. */
    private static final class Loader extends URLClassLoader {
        Loader(URL[] jars, ClassLoader parent) {
            super(jars, parent);
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith(LOGGING_PACKAGE)) {
                return super.loadClass(name, resolve);
            }
            synchronized (getClassLoadingLock(name)) {
                Class<?> loaded = findLoadedClass(name);
                return loaded != null ? loaded : findClass(name);
            }
        }
    }
}
