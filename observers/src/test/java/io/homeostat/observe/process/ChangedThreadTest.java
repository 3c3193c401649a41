package io.homeostat.observe.process;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ChangedThreadTest {
    @Test
    void whoWaitsIsNotWokenByTheThreadThatWasChanged() throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        CompletableFuture<Thread> worker = ChangedThread.run("changed", () -> {
            go.await();
            return Thread.currentThread();
        });
        CompletableFuture<Thread> waker = worker.thenApply(_ -> Thread.currentThread());

        go.countDown();

        assertNotSame(worker.get(), waker.get());
        assertFalse(worker.get().isVirtual());
        worker.get().join();
    }

    @Test
    void itsFailureIsToldAsItIs() {
        IOException failure = new IOException("on purpose");

        ExecutionException told = assertThrows(
                ExecutionException.class,
                () -> ChangedThread.run("changed", () -> {
                            throw failure;
                        })
                        .get());

        assertSame(failure, told.getCause());
    }
}
