"""What queries really ran: the filters, columns and bytes of each table's scans."""
