package io.homeostat.e2e;

import com.sun.jdi.Bootstrap;
import com.sun.jdi.Location;
import com.sun.jdi.Method;
import com.sun.jdi.ReferenceType;
import com.sun.jdi.VMDisconnectedException;
import com.sun.jdi.VirtualMachine;
import com.sun.jdi.connect.AttachingConnector;
import com.sun.jdi.connect.Connector;
import com.sun.jdi.connect.IllegalConnectorArgumentsException;
import com.sun.jdi.event.BreakpointEvent;
import com.sun.jdi.event.ClassPrepareEvent;
import com.sun.jdi.event.Event;
import com.sun.jdi.event.EventSet;
import com.sun.jdi.request.ClassPrepareRequest;
import com.sun.jdi.request.EventRequestManager;
import io.homeostat.controlplane.FreePorts;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The beginning of a method of a program under test, at which the whole program stands still, so that it can be killed just there. It is
 * found as a debugger finds it: nothing in the program knows of it.
 */
final class KillPoint implements AutoCloseable {
    private static final Duration POLL = Duration.ofMillis(20);

    private final String className;
    private final String method;
    private final int port;
    private final CountDownLatch reached = new CountDownLatch(1);
    private final AtomicBoolean armed = new AtomicBoolean();
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    private final Thread thread;

    /** @param point {@code io.homeostat.Class.method} */
    KillPoint(String point) {
        int dot = point.lastIndexOf('.');
        this.className = point.substring(0, dot);
        this.method = point.substring(dot + 1);
        try {
            // Another program might get any other one before ours listens, and who connects to it until then might be
            // connected to himself.
            this.port = FreePorts.take();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        this.thread = Thread.ofPlatform().daemon().name("debugger").start(this::debug);
    }

    /** What the JVM of the program has to be started with. It waits for nobody but us. */
    String option() {
        return "-agentlib:jdwp=transport=dt_socket,server=y,suspend=y,quiet=y,address=127.0.0.1:" + port;
    }

    /** From now on it stands still when it comes there. */
    void arm() {
        armed.set(true);
    }

    /** Waits until it has come there. */
    void await() {
        try {
            if (!reached.await(Patience.LONGEST.toMillis(), TimeUnit.MILLISECONDS)) {
                throw new AssertionError(className + "." + method + " was never called", failure.get());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    private void debug() {
        try {
            VirtualMachine machine = attached();
            EventRequestManager requests = machine.eventRequestManager();
            ClassPrepareRequest prepared = requests.createClassPrepareRequest();
            prepared.addClassFilter(className);
            prepared.enable();
            machine.classesByName(className).forEach(type -> stopAt(type, requests));
            machine.resume();
            while (true) {
                EventSet events = machine.eventQueue().remove();
                for (Event event : events) {
                    if (event instanceof ClassPrepareEvent found) {
                        stopAt(found.referenceType(), requests);
                    }
                    if (event instanceof BreakpointEvent && armed.get()) {
                        reached.countDown();
                        return;
                    }
                }
                events.resume();
            }
        } catch (VMDisconnectedException e) {
            // It has ended.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (IllegalConnectorArgumentsException | RuntimeException e) {
            failure.set(e);
        }
    }

    /** Waits until the program has begun; it does nothing before. */
    private VirtualMachine attached() throws IllegalConnectorArgumentsException, InterruptedException {
        AttachingConnector connector = Bootstrap.virtualMachineManager().attachingConnectors().stream()
                .filter(one -> one.transport().name().equals("dt_socket"))
                .findFirst()
                .orElseThrow();
        Map<String, Connector.Argument> arguments = connector.defaultArguments();
        Objects.requireNonNull(arguments.get("hostname")).setValue("127.0.0.1");
        Objects.requireNonNull(arguments.get("port")).setValue(Integer.toString(port));
        while (true) {
            try {
                return connector.attach(arguments);
            } catch (IOException e) {
                // It does not listen yet; whoever waits for it to be ready gives up in time.
                Thread.sleep(POLL);
            }
        }
    }

    private void stopAt(ReferenceType type, EventRequestManager requests) {
        for (Method found : type.methodsByName(method)) {
            Location location = found.location();
            if (location != null) {
                requests.createBreakpointRequest(location).enable();
            }
        }
    }

    @Override
    public void close() {
        thread.interrupt();
    }
}
