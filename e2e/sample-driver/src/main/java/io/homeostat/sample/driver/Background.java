package io.homeostat.sample.driver;

/** Threads that keep nobody from ending. */
final class Background {
    private Background() {}

    static Thread run(String name, Runnable action) {
        Thread thread = new Thread(action, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }
}
