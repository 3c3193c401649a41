package io.homeostat.actuate.limits;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Groups of version 1, whose cpusets are empty at first. */
class PlainDirectories implements ControlFiles {
    private static final List<String> FILES = List.of("cgroup.procs", "cpuset.cpus", "cpuset.mems");

    @Override
    public void makeGroup(Path group) throws IOException {
        if (Files.isDirectory(group)) {
            return;
        }
        Files.createDirectory(group);
        for (String file : FILES) {
            Files.createFile(group.resolve(file));
        }
    }

    @Override
    public void write(Path file, String text) throws IOException {
        Files.writeString(file, text);
    }

    @Override
    public void removeGroup(Path group) throws IOException {
        for (String file : FILES) {
            Files.deleteIfExists(group.resolve(file));
        }
        Files.deleteIfExists(group);
    }
}
