package io.homeostat.reconcile;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import com.google.common.collect.HashMultiset;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.Multiset;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Predicate;
import org.slf4j.LoggerFactory;

/**
 * Records what classes log, from INFO on, until it is closed. Other tests log there at the same time, so each test says which events are
 * its own: those of its thread, or those that name its directory.
 */
public final class HeardLog implements AutoCloseable {
    private static final Multiset<Logger> OPEN = HashMultiset.create();

    private final ImmutableList<Logger> loggers;
    private final List<ILoggingEvent> events = new CopyOnWriteArrayList<>();
    private final AppenderBase<ILoggingEvent> appender = new AppenderBase<>() {
        @Override
        protected void append(ILoggingEvent event) {
            if (own.test(event)) {
                events.add(event);
            }
        }
    };
    private final Predicate<ILoggingEvent> own;

    private HeardLog(Predicate<ILoggingEvent> own, Class<?>... classes) {
        this.own = own;
        loggers = Arrays.stream(classes)
                .map(each -> (Logger) LoggerFactory.getLogger(each))
                .collect(ImmutableList.toImmutableList());
        appender.start();
        synchronized (OPEN) {
            for (Logger logger : loggers) {
                OPEN.add(logger);
                logger.setLevel(Level.INFO);
                logger.addAppender(appender);
            }
        }
    }

    /** Records the events that the calling thread logs. */
    public static HeardLog ofThisThread(Class<?>... classes) {
        Thread here = Thread.currentThread();
        return new HeardLog(event -> Thread.currentThread().equals(here), classes);
    }

    /** Records the events of any thread whose message matches. */
    public static HeardLog ofLines(Predicate<String> own, Class<?>... classes) {
        return new HeardLog(event -> own.test(event.getFormattedMessage()), classes);
    }

    public List<ILoggingEvent> events() {
        return List.copyOf(events);
    }

    public List<String> lines() {
        return events.stream().map(ILoggingEvent::getFormattedMessage).toList();
    }

    @Override
    public void close() {
        synchronized (OPEN) {
            for (Logger logger : loggers) {
                logger.detachAppender(appender);
                if (OPEN.remove(logger, 1) == 1) {
                    logger.setLevel(null);
                }
            }
        }
    }
}
