"""The practitioner's tool: any table read, texts ranked, systems compared, reports, the command."""
